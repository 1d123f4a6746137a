import { Readable } from 'node:stream';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '#runtime';

export const PROVIDER_PATH = '/v1/providers/';
const MAX_BODY_BYTES = 64 * 1024;

type WithBody = FastifyRequest & { providerBody?: string };

/** The body of a provider's call exactly as it came: signatures are over these bytes. */
export function providerBodyOf(request: FastifyRequest): string {
  return (request as WithBody).providerBody ?? '';
}

/**
 * Keeps the bytes of providers' calls from being parsed: their media types are their own (`text/json`), and a body that is no JSON
 * has an answer in the provider's protocol, not a problem document.
 */
@Injectable()
export class ProviderBodies implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    fastify.addHook('preParsing', async (request, _reply, payload) => {
      if (!request.url.startsWith(PROVIDER_PATH)) return payload;
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of payload as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > MAX_BODY_BYTES) throw new Problem('payload_too_large');
        chunks.push(chunk);
      }
      (request as WithBody).providerBody = Buffer.concat(chunks).toString('utf8');
      delete request.headers['content-length'];
      delete request.headers['transfer-encoding'];
      request.headers['content-type'] = 'application/json';
      if (size > 0) request.headers['content-length'] = '2';
      return Readable.from([Buffer.from('{}')]);
    });
  }
}
