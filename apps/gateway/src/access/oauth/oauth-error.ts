import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { secondsToWait } from '../limits/limit-headers.js';

export type OauthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'unsupported_grant_type'
  | 'invalid_scope'
  | 'slow_down';

/** A refusal of the token endpoint in the shape of RFC 6749 §5.2, which OAuth clients read. */
export class OauthError extends Error {
  override readonly name = 'OauthError';

  /** @param description printable ASCII without quotes and backslashes (RFC 6749 §5.2) */
  constructor(
    readonly code: OauthErrorCode,
    readonly description: string,
    /** With `slow_down`. */
    readonly retryAfterSeconds: number | null = null,
  ) {
    super(`${code}: ${description}`);
  }
}

/** RFC 6749 §5.2; `slow_down` is RFC 8628's word, with the status of RFC 6585. */
const STATUSES: Partial<Record<OauthErrorCode, number>> = { invalid_client: 401, slow_down: 429 };

const TOO_MANY_FAILURES = 'Too many failed logins as this client from this address. Wait as Retry-After says.';

/** @param description why; too many failed logins unless given */
export function slowDown(retryInMs: number, description = TOO_MANY_FAILURES): OauthError {
  return new OauthError('slow_down', description, secondsToWait(retryInMs));
}

@Catch(OauthError)
export class OauthErrorFilter implements ExceptionFilter<OauthError> {
  catch({ code, description, retryAfterSeconds }: OauthError, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (code === 'invalid_client')
      void reply.header('www-authenticate', 'Basic realm="fiscal-gateway", charset="UTF-8"');
    if (retryAfterSeconds !== null) void reply.header('retry-after', String(retryAfterSeconds));
    void reply
      .status(STATUSES[code] ?? 400)
      .headers({ 'cache-control': 'no-store', pragma: 'no-cache' })
      .send({ error: code, error_description: description });
  }
}
