import { randomUUID } from 'node:crypto';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';

export const PROVIDER_PATH = '/v1/providers/';
const MAX_BODY_BYTES = 64 * 1024;

type WithBody = FastifyRequest & { providerBody?: string };

/** The body of a provider's call exactly as it came: signatures are over these bytes. */
export function providerBodyOf(request: FastifyRequest): string {
  return (request as WithBody).providerBody ?? '';
}

/** A media type that no client sends: elsewhere it is as unknown as any other. */
const AS_IT_CAME = `application/x-${randomUUID()}`;

/**
 * Keeps the bytes of providers' calls from being parsed: their media types are their own (`text/json`), and a body that is no JSON
 * has an answer in the provider's protocol, not a problem document.
 */
@Injectable()
export class ProviderBodies implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    const options = { parseAs: 'string', bodyLimit: MAX_BODY_BYTES } as const;
    fastify.addContentTypeParser<string>(AS_IT_CAME, options, (request, body, done) => {
      (request as WithBody).providerBody = body;
      done(null, {});
    });
    fastify.addHook('preParsing', (request, _reply, payload, done) => {
      if (request.routeOptions.url?.startsWith(PROVIDER_PATH) === true) request.headers['content-type'] = AS_IT_CAME;
      done(null, payload);
    });
  }
}
