import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  event: { id: string; type: string; timestamp: string; merchant_id: string; data: Record<string, unknown> };
  /** Those of a batch, or the one event. */
  events: Received['event'][];
}

type Answer = (received: Received, response: ServerResponse) => void;

/** A merchant's receiver: keeps what arrives and answers as the test says. */
export class Receiver {
  readonly received: Received[] = [];
  answer: Answer = (_received, response) => void response.writeHead(204).end();

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<Receiver> {
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const event = JSON.parse(body) as Received['event'] & { events?: Received['event'][] };
        const { url = '', headers } = request;
        const received = { path: url, headers, body, event, events: event.events ?? [event] };
        receiver.received.push(received);
        receiver.answer(received, response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const receiver = new Receiver(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return receiver;
  }

  types(): string[] {
    return this.received.map(({ event }) => event.type);
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}
