import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** What happens to one request on its way to the gateway. */
export type Fate =
  | { kind: 'pass' }
  /** The connection ends before anything has reached the gateway. */
  | { kind: 'drop_request' }
  /** The gateway does its work; its answer never arrives. */
  | { kind: 'drop_answer' }
  /** The status arrives, and half of the body. */
  | { kind: 'cut_answer' }
  /** The answer comes late, perhaps after the caller has given up. */
  | { kind: 'slow'; delayMs: number }
  /** Answered by the proxy; the gateway knows nothing of it. */
  | { kind: 'refuse'; status: number; code: string; retryAfterS?: number }
  /** As a proxy in between answers: no problem document. */
  | { kind: 'page'; status: number };

export interface SeenRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  fate: Fate['kind'];
}

/** HTTP between a client and a gateway, with a fate for each request. The Host header passes as it is: it is signed. */
export class FaultProxy {
  readonly seen: SeenRequest[] = [];
  private readonly server: Server;

  constructor(
    private readonly targets: readonly string[],
    private readonly fateOf: (request: SeenRequest) => Fate,
  ) {
    this.server = createServer((incoming, outgoing) => void this.handle(incoming, outgoing));
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve) => this.server.listen(port, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private async handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = incoming;
    const seen: SeenRequest = { method, path, headers, fate: 'pass' };
    const fate = this.fateOf(seen);
    seen.fate = fate.kind;
    this.seen.push(seen);
    try {
      const body = await read(incoming);
      if (fate.kind === 'drop_request') return void outgoing.destroy();
      if (fate.kind === 'refuse' || fate.kind === 'page') return answerItself(outgoing, fate);
      const answer = await this.forward(incoming, body);
      await deliver(outgoing, answer, fate);
    } catch {
      // The gateway is down, or the caller has left: either way the connection is all there is to end.
      outgoing.destroy();
    }
  }

  private forward({ method, url, headers }: IncomingMessage, body: Buffer): Promise<Answer> {
    const target = new URL(this.targets[this.seen.length % this.targets.length] ?? '');
    return new Promise((resolve, reject) => {
      const options = { hostname: target.hostname, port: target.port, method, path: url, headers };
      const request = httpRequest(options, (response) => {
        read(response).then((held) => {
          resolve({ status: response.statusCode ?? 502, headers: response.headers, body: held });
        }, reject);
      });
      request.on('error', reject);
      request.end(body);
    });
  }
}

interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

async function read(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function deliver(outgoing: ServerResponse, answer: Answer, fate: Fate): Promise<void> {
  if (fate.kind === 'drop_answer') return void outgoing.destroy();
  if (fate.kind === 'slow') await delay(fate.delayMs, undefined, { ref: false });
  const { 'transfer-encoding': _chunked, ...headers } = answer.headers;
  outgoing.writeHead(answer.status, { ...headers, 'content-length': answer.body.length });
  if (fate.kind !== 'cut_answer') return void outgoing.end(answer.body);
  outgoing.write(answer.body.subarray(0, Math.floor(answer.body.length / 2)));
  // Half of it has to arrive before the end does.
  await delay(5);
  outgoing.destroy();
}

function answerItself(outgoing: ServerResponse, fate: Extract<Fate, { kind: 'refuse' | 'page' }>): void {
  if (fate.kind === 'page') {
    outgoing.writeHead(fate.status, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
    return;
  }
  const { status, code, retryAfterS } = fate;
  const problem = {
    ...{ type: `/docs/problems/${code}`, title: code, status, detail: 'By the proxy of the test.', code },
    ...{ retryable: true, request_id: 'proxy', errors: [] },
  };
  if (retryAfterS !== undefined) outgoing.setHeader('retry-after', retryAfterS);
  outgoing.writeHead(status, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem));
}
