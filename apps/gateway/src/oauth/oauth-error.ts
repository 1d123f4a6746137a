import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

export type OauthErrorCode =
  'invalid_request' | 'invalid_client' | 'unauthorized_client' | 'unsupported_grant_type' | 'invalid_scope';

/** A refusal of the token endpoint in the shape of RFC 6749 §5.2, which OAuth clients read. */
export class OauthError extends Error {
  override readonly name = 'OauthError';

  /** @param description printable ASCII without quotes and backslashes (RFC 6749 §5.2) */
  constructor(
    readonly code: OauthErrorCode,
    readonly description: string,
  ) {
    super(`${code}: ${description}`);
  }
}

@Catch(OauthError)
export class OauthErrorFilter implements ExceptionFilter<OauthError> {
  catch({ code, description }: OauthError, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const isClientUnknown = code === 'invalid_client';
    if (isClientUnknown) void reply.header('www-authenticate', 'Basic realm="fiscal-gateway", charset="UTF-8"');
    void reply
      .status(isClientUnknown ? 401 : 400)
      .headers({ 'cache-control': 'no-store', pragma: 'no-cache' })
      .send({ error: code, error_description: description });
  }
}
