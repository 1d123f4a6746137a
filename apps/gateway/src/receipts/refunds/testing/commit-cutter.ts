import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Where a connection dies: before the COMMIT reaches the server, or after the server has committed, before its answer arrives. */
export type Cut = 'before' | 'after';

/** Length of a message is its second field, after the type; the first message has no type. */
const TYPE_BYTES = 1;
const LENGTH_BYTES = 4;

/** Stands between a program and PostgreSQL and cuts a connection at the COMMIT of a transaction that carried a mark. */
export class CommitCutter {
  private readonly sockets = new Set<Socket>();
  private mark: string | null = null;
  private cuts: Cut[] = [];

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
  ) {}

  static async start(databaseUrl: string): Promise<CommitCutter> {
    const server = createServer();
    const cutter = new CommitCutter(server, new URL(databaseUrl));
    server.on('connection', (near) => cutter.join(near));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return cutter;
  }

  get url(): string {
    const url = new URL(this.target.href);
    url.host = `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return url.href;
  }

  /** The next transactions that carry the mark lose their connections, one after the other, as given. */
  cutCommitsOf(mark: string, cuts: readonly Cut[]): void {
    this.mark = mark;
    this.cuts = [...cuts];
  }

  /** How many of the cuts asked for have not happened. */
  get pending(): number {
    return this.cuts.length;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private join(near: Socket): void {
    const far = connect(Number(this.target.port), this.target.hostname);
    const end = (): void => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      this.sockets.add(socket);
      socket.on('error', end).on('close', () => {
        this.sockets.delete(socket);
        end();
      });
    }
    let isCommitting = false;
    const reader = new MessageReader();
    let isMarked = false;
    near.on('data', (chunk: Buffer) => {
      for (const message of reader.read(chunk)) {
        if (message.sql === 'BEGIN') isMarked = false;
        if (this.mark !== null && message.bytes.includes(this.mark)) isMarked = true;
        if (!isMarked || message.sql !== 'COMMIT' || this.cuts.length === 0) continue;
        if (this.cuts.shift() === 'before') return end();
        isCommitting = true;
      }
      far.write(chunk);
    });
    far.on('data', (chunk: Buffer) => {
      // The server's answer to the commit is the first byte that is dropped.
      if (isCommitting && chunk.includes('COMMIT\0')) return end();
      near.write(chunk);
    });
  }
}

interface Message {
  bytes: Buffer;
  /** The statement that it runs, also one that was prepared before; null for other messages. */
  sql: string | null;
}

/** Cuts what a client sends into messages of the protocol, and knows the statements that it has prepared. */
class MessageReader {
  private waiting: Buffer = Buffer.alloc(0);
  private hasBegun = false;
  private readonly prepared = new Map<string, string>();

  read(chunk: Buffer): Message[] {
    this.waiting = Buffer.concat([this.waiting, chunk]);
    const messages: Message[] = [];
    for (;;) {
      const typeBytes = this.hasBegun ? TYPE_BYTES : 0;
      if (this.waiting.length < typeBytes + LENGTH_BYTES) return messages;
      const length = typeBytes + this.waiting.readInt32BE(typeBytes);
      if (this.waiting.length < length) return messages;
      const bytes = this.waiting.subarray(0, length);
      this.waiting = this.waiting.subarray(length);
      messages.push({ bytes, sql: this.hasBegun ? this.sqlOf(bytes) : null });
      this.hasBegun = true;
    }
  }

  private sqlOf(bytes: Buffer): string | null {
    const [first = '', second = ''] = bytes
      .subarray(TYPE_BYTES + LENGTH_BYTES)
      .toString('latin1')
      .split('\0', 2);
    switch (String.fromCharCode(bytes[0] ?? 0)) {
      case 'Q':
        return first;
      case 'P':
        this.prepared.set(first, second);
        return null;
      case 'B':
        return this.prepared.get(second) ?? null;
      default:
        return null;
    }
  }
}
