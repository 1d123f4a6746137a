import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { decodeFrame, encodeFrame, LINK_PROTOCOL, MAX_MESSAGE_BYTES, type Frame } from '../frames.js';
import { newChallenge, type Challenge } from '../handshake.js';
import { untilTrue } from '../../../runtime/src/testing/until.js';

/** The device of these tests. */
export const DEVICE = 'dev_01aaaaaaaaaaaaaaaaaaaaaaaa';
/** What a test began, to be ended after it in the other order. */
export const ends: (() => unknown)[] = [];

interface Connection {
  closedWith: number | null;
}

/** A relay that a test plays by hand: what the register's end says, and how its socket closed. */
export class HandRelay {
  readonly received: Frame[] = [];
  readonly challenges: Challenge[] = [];
  /** The last connection, and the last one that was accepted: the register dials again at once. */
  private latest: Connection = { closedWith: null };
  private accepted: Connection | null = null;
  connections = 0;
  socket: WebSocket | null = null;
  private readonly server = new WebSocketServer({
    host: '127.0.0.1',
    port: 0,
    maxPayload: MAX_MESSAGE_BYTES,
    handleProtocols: () => LINK_PROTOCOL,
  });

  constructor(private readonly identity: (own: string) => string = (own) => own) {
    ends.push(() => {
      for (const socket of this.server.clients) socket.terminate();
      return new Promise((resolve) => this.server.close(resolve));
    });
    this.server.on('connection', (socket) => {
      this.connections += 1;
      this.socket = socket;
      const connection: Connection = { closedWith: null };
      this.latest = connection;
      const challenge = newChallenge(this.identity(this.host));
      this.challenges.push(challenge);
      socket.on('message', (data) => {
        const frame = decodeFrame(data as Buffer);
        if (frame) this.received.push(frame);
      });
      socket.on('close', (code) => (connection.closedWith = code));
      socket.send(encodeFrame(challenge));
    });
  }

  /** Before anything else is asked of it. */
  async listening(): Promise<this> {
    await untilTrue(() => this.server.address() !== null);
    return this;
  }

  get host(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `ws://${this.host}/link?device=${DEVICE}`;
  }

  say(header: object, body?: Buffer): void {
    this.socket?.send(encodeFrame(header, body));
  }

  async receive(): Promise<Frame> {
    await untilTrue(() => this.received.length > 0);
    return this.received.shift()!;
  }

  /** Takes the hello, and accepts any register. */
  async accept(heartbeatMs = 20_000): Promise<void> {
    await this.receive();
    this.accepted = this.latest;
    this.say({ type: 'accepted', epoch: '1', heartbeatMs });
  }

  /** Of the connection that was accepted last; where none was, of the latest. */
  async closed(): Promise<number> {
    const judged = this.accepted ?? this.latest;
    await untilTrue(() => judged.closedWith !== null);
    return judged.closedWith!;
  }
}

/** A register's end that a test plays by hand. */
export class HandRegister {
  readonly received: Frame[] = [];
  pings = 0;
  private closedWith: number | null = null;
  private readonly socket: WebSocket;

  constructor(port: number) {
    this.socket = new WebSocket(`ws://127.0.0.1:${port}/`);
    this.socket.on('message', (data) => {
      const frame = decodeFrame(data as Buffer);
      if (frame) this.received.push(frame);
    });
    // A test that ends before it was answered.
    this.socket.on('error', () => undefined);
    this.socket.on('ping', () => (this.pings += 1));
    this.socket.on('close', (code) => (this.closedWith = code));
    ends.push(() => this.socket.terminate());
  }

  async opened(): Promise<this> {
    await untilTrue(() => this.socket.readyState === this.socket.OPEN);
    return this;
  }

  say(header: object): void {
    this.sendRaw(encodeFrame(header));
  }

  sendRaw(data: Buffer): void {
    this.socket.send(data, () => undefined);
  }

  async closed(): Promise<number> {
    await untilTrue(() => this.closedWith !== null);
    return this.closedWith!;
  }
}
