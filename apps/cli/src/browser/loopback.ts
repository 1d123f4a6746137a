import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the browser brings. */
export type Brought = { kind: 'code'; code: string; merchant: string | null } | { kind: 'refused' };

const PAGE = (text: string): string =>
  `<!doctype html><meta charset="utf-8"><title>fgw</title><body style="font:1.2em system-ui;margin:3em">${text}</body>`;
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  connection: 'close',
};

/** Waits on this machine alone for the browser to come back (RFC 8252 §7.3). What comes without the state has not been begun here. */
export class Loopback {
  private readonly server: Server;
  private settle: (brought: Brought) => void = () => undefined;
  private readonly waiting = new Promise<Brought>((resolve) => (this.settle = resolve));

  constructor(private readonly state: string) {
    this.server = createServer((request, response) => this.answer(request.url ?? '/', response));
  }

  /** @returns the port */
  async listen(): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(0, '127.0.0.1', resolve);
    });
    return (this.server.address() as AddressInfo).port;
  }

  /** @returns null: the signal came first */
  async wait(signal: AbortSignal): Promise<Brought | null> {
    if (signal.aborted) return null;
    let giveUp = (): void => undefined;
    const given = new Promise<null>((resolve) => (giveUp = () => resolve(null)));
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return await Promise.race([this.waiting, given]);
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private answer(url: string, response: ServerResponse): void {
    const given = new URL(url, 'http://127.0.0.1').searchParams;
    const code = given.get('code');
    if (given.get('state') !== this.state) {
      response.writeHead(400, HEADERS).end(PAGE('This is not the login that was begun here.'));
      return;
    }
    const text = code === null ? 'Refused. You may close this window.' : 'Done. You may close this window.';
    const brought: Brought =
      code === null ? { kind: 'refused' } : { kind: 'code', code, merchant: given.get('merchant') };
    response.writeHead(200, HEADERS).end(PAGE(text), () => this.settle(brought));
  }
}
