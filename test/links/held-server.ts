import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A register that holds its first request for `path` until the test answers it, and refuses others at once, such as polls. */
export class HeldServer {
  private readonly server: Server = createServer((request, response) => {
    if (this.response === null && request.url === this.path) this.response = response;
    else response.writeHead(503).end();
  });
  private response: ServerResponse | null = null;

  constructor(private readonly path: string) {}

  get held(): boolean {
    return this.response !== null;
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  answer(body: string): void {
    this.response?.writeHead(200, { 'content-type': 'application/json' }).end(body);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
