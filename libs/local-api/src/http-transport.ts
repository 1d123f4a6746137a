import type { LookupFunction } from 'node:net';
import { openExchange } from './exchange.js';
import { KeepAlivePool } from './keep-alive.js';
import type { LocalApiTransport, Opening, TransportRequest } from './transport.js';

export interface HttpTransportOptions {
  /** e.g. `http://192.168.1.20:8765` */
  baseUrl: string;
  /** Certificate authority of the register in PEM, when it is not a public one. */
  ca?: string | undefined;
  /** How a name becomes an address, at every new connection; the system's way unless given. */
  lookup?: LookupFunction | undefined;
}

/** Requests straight to a register's address. Follows no redirect, repeats nothing. */
export class HttpTransport implements LocalApiTransport {
  private readonly base: URL;
  private readonly pool: KeepAlivePool;
  private readonly lookup: LookupFunction | undefined;

  /** @throws TypeError when `baseUrl` is no http or https URL */
  constructor({ baseUrl, ca, lookup }: HttpTransportOptions) {
    this.base = new URL(baseUrl);
    this.lookup = lookup;
    if (this.base.protocol !== 'http:' && this.base.protocol !== 'https:') {
      throw new TypeError('the address of a register begins with http:// or https://');
    }
    this.pool = new KeepAlivePool(this.base.protocol === 'https:', ca);
  }

  async open({ method, path, headers, body, connectTimeoutMs }: TransportRequest): Promise<Opening> {
    const { hostname, port, protocol, pathname } = this.base;
    const opening = await openExchange({
      secure: protocol === 'https:',
      pool: this.pool,
      connectTimeoutMs,
      options: {
        method,
        host: hostname.replace(/^\[(.*)\]$/, '$1'),
        port: port === '' ? undefined : Number(port),
        path: `${pathname.replace(/(?<!\/)\/+$/, '')}${path}`,
        ...(this.lookup && { lookup: this.lookup }),
        headers: { ...headers, ...(body && { 'Content-Length': String(body.length) }) },
      },
    });
    if (opening.kind === 'not_sent') return opening;
    const { exchange } = opening;
    return {
      kind: 'open',
      call: {
        send: (limits, mayStillSend) => exchange.send(body, limits, mayStillSend),
        abandon: () => exchange.abandon(),
      },
    };
  }

  close(): void {
    this.pool.close();
  }

  retire(): void {
    this.pool.retire();
  }
}
