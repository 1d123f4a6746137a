import { connect, createServer, type Server, type Socket } from 'node:net';

/** A line between programs and a server that a test can cut, silently or not. */
export class TcpProxy {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  constructor(
    private readonly port: number,
    private readonly targetPort: number,
  ) {
    this.server = createServer((near) => this.join(near));
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
  }

  /** What is connected now hears nothing more and is not told so; new connections work. Returns how many there were. */
  deafen(): number {
    const deafened = this.sockets.size;
    for (const socket of this.sockets) {
      socket.unpipe();
      // Taken and thrown away, as by a firewall that forgot the connection: nobody answers, nobody resets.
      socket.removeAllListeners('data').resume();
      socket.removeAllListeners('close').removeAllListeners('end');
    }
    return deafened;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private join(near: Socket): void {
    const far = connect(this.targetPort, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(from);
      from.on('error', () => from.destroy()); // the other side is closed by 'close'
      from.once('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }
}
