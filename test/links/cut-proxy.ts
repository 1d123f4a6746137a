import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Who dials through the proxy: the relay calls a register at its address, or the register dials the relay. */
export type Dialler = 'relay' | 'register';

/** A TCP proxy between relay and register that loses what a test wants lost, and cuts when it says so. */
export class CutProxy {
  /** Bytes towards the register are thrown away. */
  swallowing = false;
  /** Nothing gets through either way, and neither end hears that the other one has gone. */
  frozen = false;
  /** After so many more bytes from the register the connection is cut. */
  cutAfterAnswerBytes = Number.POSITIVE_INFINITY;
  bytesSwallowed = 0;
  connections = 0;
  private readonly sockets = new Set<Socket>();
  private server: Server | null = null;

  constructor(
    private readonly dialler: Dialler,
    public target: { host: string; port: number },
  ) {}

  async listen(port = 0): Promise<number> {
    const server = createServer((client) => this.join(client));
    this.server = server;
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  /** As a cable that is pulled: both ends see the connection reset or end, whatever was under way. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  heal(): void {
    this.swallowing = false;
    this.frozen = false;
    this.cutAfterAnswerBytes = Number.POSITIVE_INFINITY;
    this.bytesSwallowed = 0;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server?.close(resolve));
  }

  private join(client: Socket): void {
    this.connections += 1;
    const server = connect(this.target);
    const [relay, register] = this.dialler === 'relay' ? [client, server] : [server, client];
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.sockets.delete(socket);
        if (!this.frozen) other.destroy();
      });
    }
    relay.on('data', (chunk: Buffer) => {
      if (!this.swallowing && !this.frozen) register.write(chunk);
      else this.bytesSwallowed += chunk.length;
    });
    register.on('data', (chunk: Buffer) => {
      if (this.frozen) return;
      const allowed = Math.min(chunk.length, this.cutAfterAnswerBytes);
      this.cutAfterAnswerBytes -= chunk.length;
      relay.write(chunk.subarray(0, allowed), () => {
        if (this.cutAfterAnswerBytes < 0) this.cut();
      });
    });
  }
}
