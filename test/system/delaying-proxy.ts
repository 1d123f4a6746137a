import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** A line on which every byte takes its time, in both directions: a database in another building. */
export class DelayingProxy {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  /** Pieces that clients have sent: about one for each statement that is not sent together with another. */
  sent = 0;

  /** @param delayMs for one way; an answer takes twice as long */
  constructor(
    private readonly target: { host: string; port: number },
    private readonly delayMs: number,
  ) {
    this.server = createServer({ noDelay: true }, (near) => this.join(near));
  }

  /** @returns its port */
  async listen(port = 0): Promise<number> {
    await new Promise<void>((resolve) => this.server.listen(port, '127.0.0.1', resolve));
    return (this.server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private join(near: Socket): void {
    const far = connect({ ...this.target, noDelay: true });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(from);
      from.on('error', () => from.destroy()); // the other side is closed by 'close'
      from.once('close', () => {
        this.sockets.delete(from);
        this.later(() => to.destroy());
      });
      // Timers of one duration fire in the order in which they were set: bytes keep theirs.
      from.on('data', (chunk) => {
        if (from === near) this.sent += 1;
        this.later(() => void (to.destroyed || to.write(chunk)));
      });
      from.on('end', () => this.later(() => to.end()));
    }
  }

  private later(run: () => void): void {
    setTimeout(run, this.delayMs);
  }
}

/** The same database through a line with this delay. */
export async function behindDelay(
  databaseUrl: string,
  roundTripMs: number,
): Promise<{ url: string; proxy: DelayingProxy; close: () => Promise<void> }> {
  const url = new URL(databaseUrl);
  const proxy = new DelayingProxy({ host: url.hostname, port: Number(url.port) }, roundTripMs / 2);
  url.port = String(await proxy.listen());
  url.hostname = '127.0.0.1';
  return { url: url.href, proxy, close: () => proxy.close() };
}
