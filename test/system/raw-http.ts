import { request } from 'node:http';

export interface RawRequest {
  method?: string;
  path?: string;
  /** Names and values in turn, sent exactly so: repeated names too. Without a first `host` that of the URL is sent. */
  headers?: readonly string[];
  body?: string | Buffer;
}

export interface RawAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** A request as given, on a connection of its own: what fetch would mend or refuse to send goes out as it is. */
export function rawCall(
  baseUrl: string,
  { method = 'POST', path = '/v1/receipts', headers = [], body }: RawRequest,
): Promise<RawAnswer> {
  const { hostname, port, host } = new URL(baseUrl);
  const length = method === 'GET' ? [] : ['content-length', String(Buffer.byteLength(body ?? ''))];
  const hosted = headers[0] === 'host' ? headers : ['host', host, ...headers];
  return new Promise((resolve, reject) => {
    const sent = request(
      { hostname, port, method, path, agent: false, headers: [...hosted, ...length], timeout: 60_000 },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.once('error', reject);
        answer.once('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(chunks).toString() }),
        );
      },
    );
    sent.once('timeout', () => sent.destroy(new Error('no answer within 60 s')));
    sent.once('error', reject);
    sent.end(body);
  });
}
