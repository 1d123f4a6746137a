import { Agent, request } from 'node:http';
import { connect } from 'node:net';

export interface SentRequest {
  method: string;
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: Buffer;
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** @returns the status; null where the connection was cut before an answer */
export function send(url: string, { method, path, headers = {}, body }: SentRequest): Promise<number | null> {
  const { hostname, port } = new URL(url);
  const length = body && { 'content-length': String(body.length) };
  return new Promise((resolve) => {
    const sent = request({ hostname, port, method, path, agent, headers: { ...headers, ...length } }, (answer) => {
      answer.resume();
      answer.once('end', () => {
        // Refused before its body was there: the connection is of no more use.
        if (!sent.writableFinished) sent.destroy();
        resolve(answer.statusCode ?? null);
      });
    });
    sent.on('error', () => resolve(null));
    sent.end(body);
  });
}

/** Bytes as they are, on a connection of their own. @returns the status that the first line of the answer says */
export function sendRaw(url: string, bytes: Buffer): Promise<number | null> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.once('data', (answer) => {
      resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(answer.toString('latin1'))?.[1] ?? 0) || null);
      socket.destroy();
    });
    socket.once('close', () => resolve(null));
    socket.write(bytes);
  });
}

/** A request whose body comes in chunks of so many bytes, each the same text. */
export function chunkedRequest({ method, path, headers = {} }: SentRequest, body: string, chunkBytes: number): Buffer {
  const head = Object.entries({ host: 'x', ...headers, 'transfer-encoding': 'chunked' });
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`);
  const bytes = Buffer.from(body);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const chunk = bytes.subarray(at, at + chunkBytes);
    chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  const start = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  return Buffer.concat([start, ...chunks, Buffer.from('0\r\n\r\n')]);
}
