import type { Socket } from 'node:net';
import { newId } from '#runtime';
import { Problem } from '#problems';
import { headersOf, PROBLEM_MEDIA_TYPE, problemDocument, statusOf } from './problem-answer.js';
import { REQUEST_ID_HEADER } from './request-id.js';

/**
 * Answers bytes that never became a request (broken header, headers too large, too slow) with a problem document and
 * closes the connection. There is no request and no reply yet, so this writes to the socket itself.
 */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const problem = problemOfClientError(error.code);
  const requestId = newId('req');
  const body = JSON.stringify(problemDocument(problem, requestId));
  const status = statusOf(problem);
  const head = [
    `HTTP/1.1 ${String(status)} ${REASONS[status] ?? 'Error'}`,
    `content-type: ${PROBLEM_MEDIA_TYPE}`,
    `content-length: ${String(Buffer.byteLength(body))}`,
    `${REQUEST_ID_HEADER}: ${requestId}`,
    'cache-control: no-store',
    'connection: close',
    ...Object.entries(headersOf(problem)).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  // A peer that goes on sending must not keep the socket: end() alone waits for it.
  socket.setTimeout(1_000, () => socket.destroy());
  socket.resume();
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  431: 'Request Header Fields Too Large',
};

function problemOfClientError(code: string | undefined): Problem {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem('request_timeout', 'The request did not arrive in time.');
  if (code === 'HPE_HEADER_OVERFLOW') return new Problem('headers_too_large');
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return new Problem('payload_too_large');
  return new Problem('malformed_request', 'The request line or a header is malformed.');
}
