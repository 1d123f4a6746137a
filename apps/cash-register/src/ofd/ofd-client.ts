import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

export interface OfdResult {
  readonly seq: number;
  readonly status: 'accepted' | 'rejected';
  readonly code?: string;
  readonly message?: string;
}

/** `failed`: no server gave a readable answer in time; nothing is known about the entries. `isThere`: one answered, with something else. */
export type OfdAnswer =
  | { readonly kind: 'answered'; readonly results: ReadonlyMap<number, OfdResult> }
  | { readonly kind: 'failed'; readonly reasons: readonly string[]; readonly isThere: boolean };

export type OfdPath = '/documents' | '/z-reports';

class StaleConnection extends Error {}

/** An answer that is none of the protocol. */
class OtherAnswer extends Error {}

const MAX_ANSWER_BYTES = 1024 * 1024;

/** Sends to the OFD servers, in the configured order, within one budget over all of them. */
export class OfdClient {
  private readonly http = new HttpAgent({ keepAlive: true, maxSockets: 64, timeout: 60_000 });
  private readonly https = new HttpsAgent({ keepAlive: true, maxSockets: 64, timeout: 60_000 });

  /** @param isDown an emulator's way to unreachable servers */
  constructor(
    private readonly servers: readonly string[],
    private readonly isDown: () => boolean = () => false,
  ) {}

  /**
   * A hanging server may only use its share of what is left, so that the ones after it still get their turn.
   * @param body JSON text
   */
  async send(path: OfdPath, body: string, budgetMs: number): Promise<OfdAnswer> {
    if (this.isDown()) return { kind: 'failed', reasons: ['made unreachable by the emulator'], isThere: false };
    const endMs = performance.now() + budgetMs;
    const reasons: string[] = [];
    let isThere = false;
    for (const [index, server] of this.servers.entries()) {
      const shareMs = (endMs - performance.now()) / (this.servers.length - index);
      if (shareMs < 1) break;
      try {
        const url = `${server.replace(/\/$/, '')}${path}`;
        const results = readResults(await this.postFresh(url, body, performance.now() + shareMs));
        if (results) return { kind: 'answered', results };
        throw new OtherAnswer('unreadable answer');
      } catch (error) {
        isThere ||= error instanceof OtherAnswer;
        reasons.push(`${server}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    return { kind: 'failed', reasons, isThere };
  }

  close(): void {
    this.http.destroy();
    this.https.destroy();
  }

  /** A kept connection that the server closed just now says nothing about the server: once more on another one. */
  private async postFresh(url: string, body: string, endMs: number): Promise<string> {
    try {
      return await this.post(url, body, endMs - performance.now());
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error;
      return this.post(url, body, Math.max(1, endMs - performance.now()));
    }
  }

  private post(url: string, body: string, timeoutMs: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const secure = url.startsWith('https:');
      const options = {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      };
      const onAnswer = (answer: IncomingMessage): void => {
        readBody(answer).then(
          (text) => {
            clearTimeout(timer);
            if (answer.statusCode === 200) resolve(text);
            else reject(new OtherAnswer(`answered ${String(answer.statusCode)}`));
          },
          (error: unknown) => fail(error),
        );
      };
      const request: ClientRequest = secure
        ? httpsRequest(url, { ...options, agent: this.https }, onAnswer)
        : httpRequest(url, { ...options, agent: this.http }, onAnswer);
      const fail = (error: unknown): void => {
        clearTimeout(timer);
        reject(error instanceof Error ? error : new Error(String(error)));
      };
      // The whole exchange has one deadline: a server that drips bytes gets no more time than one that is silent.
      const timer = setTimeout(() => request.destroy(new Error('no answer in time')), timeoutMs);
      request.on('error', (error) => {
        const isStale = request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
        fail(isStale ? new StaleConnection(error.message) : error);
      });
      request.end(body);
    });
  }
}

async function readBody(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new OtherAnswer('the answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** `null` unless it is exactly the answer of the protocol: a doubtful acknowledgement is none. */
function readResults(text: string): Map<number, OfdResult> | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  const list = (parsed as { results?: unknown } | null)?.results;
  if (!Array.isArray(list)) return null;
  const results = new Map<number, OfdResult>();
  for (const entry of list as unknown[]) {
    const { seq, status, code, message } = (entry ?? {}) as Record<string, unknown>;
    if (typeof seq !== 'number' || (status !== 'accepted' && status !== 'rejected')) return null;
    // Said twice and differently: neither counts.
    if ((results.get(seq)?.status ?? status) !== status) return null;
    results.set(seq, {
      ...{ seq, status },
      ...(typeof code === 'string' && { code }),
      ...(typeof message === 'string' && { message }),
    });
  }
  return results;
}
