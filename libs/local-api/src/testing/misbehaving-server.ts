import { createServer, type Server, type Socket, type AddressInfo } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from './test-certificate.js';

/** What the server does with one complete request. */
export type Reaction = (socket: Socket, request: ReceivedRequest, server: MisbehavingServer) => void;

export interface ReceivedRequest {
  /** Request line and headers as received. */
  head: string;
  body: string;
  /** Which connection carried it, from 0. */
  connection: number;
}

/** A TCP server that reads HTTP requests and answers with whatever bytes a test wants. */
export class MisbehavingServer {
  readonly requests: ReceivedRequest[] = [];
  /** Every byte that arrived on any connection (after TLS). */
  bytesReceived = 0;
  connections = 0;
  url = '';
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;
  private readonly secure: boolean;

  constructor(
    private readonly react: Reaction,
    options: { tls?: boolean } = {},
  ) {
    const onConnection = (socket: Socket): void => {
      this.serve(socket);
    };
    this.secure = options.tls ?? false;
    this.server = this.secure
      ? createTlsServer({ cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY }, onConnection)
      : createServer(onConnection);
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    const { port } = this.server.address() as AddressInfo;
    this.url = `${this.secure ? 'https' : 'http'}://127.0.0.1:${String(port)}`;
    return this.url;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  get openConnections(): number {
    return this.sockets.size;
  }

  /** Ends the connections that are open, as a server does with idle ones. */
  endConnections(): void {
    for (const socket of this.sockets) socket.end();
  }

  private serve(socket: Socket): void {
    const connection = this.connections;
    this.connections += 1;
    this.sockets.add(socket);
    let text = '';
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.sockets.delete(socket));
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      this.bytesReceived += Buffer.byteLength(chunk);
      text += chunk;
      const headEnd = text.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const head = text.slice(0, headEnd);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      const body = text.slice(headEnd + 4);
      if (Buffer.byteLength(body) < length) return;
      text = '';
      const request = { head, body, connection };
      this.requests.push(request);
      this.react(socket, request, this);
    });
  }
}

/** Bytes of a complete answer. */
export function answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const head = {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(text)),
    ...headers,
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${String(status)} X\r\n${lines.join('')}\r\n${text}`;
}
