import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';

/** A line before the server of this address, and the address behind which it listens. */
export async function lineTo(address: string): Promise<{ line: TcpProxy; url: URL }> {
  const url = new URL(address);
  const port = await freePorts(1);
  const line = new TcpProxy(port, Number(url.port));
  await line.listen();
  url.host = `127.0.0.1:${port}`;
  return { line, url };
}

/** A line between programs and a server that a test can cut, silently or not. */
export class TcpProxy {
  private readonly server: Server;
  private readonly lines = new Set<Line>();
  private isFrozen = false;

  constructor(
    private readonly port: number,
    private readonly targetPort: number,
  ) {
    this.server = createServer({ allowHalfOpen: true }, (near) => this.join(near));
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
  }

  /** What is connected now receives nothing more and no error; new connections work. Returns how many sockets there were. */
  deafen(): number {
    for (const line of this.lines) line.deafen();
    return this.lines.size * 2;
  }

  /** Nothing passes any more, in either direction, on old connections and new ones, until `thaw`. */
  freeze(): void {
    this.isFrozen = true;
    for (const line of this.lines) line.freeze();
  }

  /** What was held back arrives now, unless its sender has reset the connection since. */
  thaw(): void {
    this.isFrozen = false;
    for (const line of this.lines) line.thaw();
  }

  /** Pieces that `freeze` holds back, of connections that are not closed yet. */
  get heldBack(): number {
    return [...this.lines].reduce((sum, line) => sum + line.heldBack, 0);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const line of this.lines) line.destroy();
    await closed;
  }

  private join(near: Socket): void {
    const far = connect({ port: this.targetPort, host: '127.0.0.1', allowHalfOpen: true });
    const line = new Line(near, far, () => this.lines.delete(line));
    this.lines.add(line);
    if (this.isFrozen) line.freeze();
  }
}

/** One connection through the proxy. */
class Line {
  /** What waits for `thaw`; null while everything passes. */
  private held: (() => void)[] | null = null;
  private isDeaf = false;

  constructor(
    private readonly near: Socket,
    private readonly far: Socket,
    private readonly onGone: () => void,
  ) {
    this.carry(near, far);
    this.carry(far, near);
  }

  get heldBack(): number {
    return this.near.readableEnded ? 0 : (this.held?.length ?? 0);
  }

  deafen(): void {
    this.isDeaf = true;
    this.near.resume();
    this.far.resume();
  }

  freeze(): void {
    this.held ??= [];
  }

  thaw(): void {
    const held = this.held ?? [];
    this.held = null;
    for (const pass of held) pass();
  }

  destroy(): void {
    this.held = null;
    this.near.destroy();
    this.far.destroy();
    this.onGone();
  }

  private carry(from: Socket, to: Socket): void {
    // Taken and thrown away when deaf, as by a firewall that forgot the connection: no answer, no reset.
    from.on('data', (chunk) => this.pass(() => this.write(from, to, chunk)));
    from.once('end', () => this.pass(() => to.end()));
    from.on('error', () => {
      // A reset: what this side had sent and the other has not received is gone with it.
      if (this.held) this.held = [];
    });
    from.once('close', (hadError) => {
      if (this.isDeaf) return;
      if (hadError) this.destroy();
      else this.pass(() => this.destroy());
    });
  }

  private pass(action: () => void): void {
    if (this.isDeaf) return;
    if (this.held) this.held.push(action);
    else action();
  }

  private write(from: Socket, to: Socket, chunk: Buffer): void {
    if (to.destroyed || to.write(chunk)) return;
    from.pause();
    to.once('drain', () => from.resume());
  }
}
