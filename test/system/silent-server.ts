import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** Registers that take connections and requests and never answer: a hung app, a firewall that forgot the connection. */
export class SilentServer {
  private readonly server: Server = createServer((socket) => {
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy()); // 'close' follows
    socket.once('close', () => this.sockets.delete(socket));
    socket.resume();
  });
  private readonly sockets = new Set<Socket>();

  /** @returns so many base addresses, each of a register of its own */
  async listen(count: number): Promise<string[]> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    const { port } = this.server.address() as AddressInfo;
    return Array.from({ length: count }, (_, index) => `http://127.0.0.1:${port}/register-${index}`);
  }

  /** Connections that wait for an answer now. */
  get connections(): number {
    return this.sockets.size;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }
}
