import type { IncomingHttpHeaders } from 'node:http';
import { newId } from '#runtime';

export const REQUEST_ID_HEADER = 'x-request-id';

/** Letters, digits and a few marks: nothing that could break a log line, a header or a page. */
const SANE = /^[A-Za-z0-9][A-Za-z0-9._:-]{7,127}$/;

/** The caller's `X-Request-Id` when it is sane, else a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers[REQUEST_ID_HEADER];
  return typeof given === 'string' && SANE.test(given) ? given : newId('req');
}
