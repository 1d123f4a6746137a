import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Messages of PostgreSQL's protocol that ask for an answer: Query, Sync. */
const ASKING: ReadonlySet<number> = new Set([0x51, 0x53]);
/** Type and length. */
const HEAD_BYTES = 5;

/**
 * A line to PostgreSQL that breaks when the n-th statement has been carried out: its answer never arrives. For the server
 * that is the same as a program that was killed at this moment; the next statement has not been sent.
 */
export class CuttingLine {
  /** How many statements went over it since it was armed. */
  statements = 0;
  private cutAfter = Number.POSITIVE_INFINITY;
  private dies = false;
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;

  constructor(private readonly target: URL) {
    this.server = createServer((near) => this.join(near));
  }

  /** @returns the database's URL over this line */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    const url = new URL(this.target);
    url.port = String((this.server.address() as AddressInfo).port);
    return url.href;
  }

  /** @param dies nothing goes over it afterwards: its program is dead. Else it may connect again at once */
  arm(cutAfter: number, { dies }: { dies: boolean }): void {
    this.statements = 0;
    this.cutAfter = cutAfter;
    this.dies = dies;
  }

  get wasCut(): boolean {
    return this.statements >= this.cutAfter;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private join(near: Socket): void {
    if (this.wasCut && this.dies) return void near.destroy();
    const far = connect(Number(this.target.port), this.target.hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(socket);
      socket.on('error', () => socket.destroy()); // the other side is closed by 'close'
      socket.once('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
    }
    let isCut = false;
    const count = asking(() => {
      this.statements += 1;
      isCut ||= this.statements === this.cutAfter;
    });
    near.on('data', (bytes) => {
      count(bytes);
      far.write(bytes);
    });
    far.on('data', (bytes) => {
      if (!isCut) return void near.write(bytes);
      if (this.dies) for (const socket of this.sockets) socket.destroy();
      near.destroy();
    });
  }
}

/** Finds the messages in what a program sends; the very first has no type. */
function asking(found: () => void): (bytes: Buffer) => void {
  let waiting = Buffer.alloc(0);
  let hasBegun = false;
  return (bytes) => {
    waiting = Buffer.concat([waiting, bytes]);
    while (waiting.length >= HEAD_BYTES) {
      const length = hasBegun ? waiting.readInt32BE(1) + 1 : waiting.readInt32BE(0);
      if (waiting.length < length) return;
      if (hasBegun && ASKING.has(waiting[0] ?? 0)) found();
      hasBegun = true;
      waiting = waiting.subarray(length);
    }
  };
}
