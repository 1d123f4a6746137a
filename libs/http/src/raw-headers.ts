import type { IncomingMessage } from 'node:http';

/**
 * Whether a request has more than one Host header. RFC 9112 §3.2 wants it refused: a proxy in front may have
 * judged by the other one. Node keeps the first and hides the rest.
 * @param rawHeaders names and values in turn, as received
 */
export function hasSeveralHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}

/** Why a request's Host cannot be taken, in words for its sender; HTTP/1.0 knows none. Null when nothing is wrong. */
export function hostFault({ rawHeaders, headers, httpVersion }: IncomingMessage): string | null {
  const isMissing = headers.host === undefined && httpVersion === '1.1';
  return isMissing || hasSeveralHosts(rawHeaders) ? 'Send one Host header.' : null;
}
