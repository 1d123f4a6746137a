import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { WebSocket } from 'ws';
import { decodeFrame, encodeFrame, LINK_PROTOCOL, type Frame } from '#link';
import { answerChallenge, type Challenge } from '../../libs/link/src/handshake.js';

/** A register's end that keeps no rule: says what a test wants, and shows what it hears. */
export class RawRegister {
  readonly heard: Frame[] = [];
  closed: { code: number; reason: string } | null = null;
  failed: string | null = null;
  private readonly socket: WebSocket;
  private wake: () => void = () => undefined;

  constructor(url: string, protocol = LINK_PROTOCOL, headers: Readonly<Record<string, string>> = {}) {
    this.socket = new WebSocket(url, protocol, { perMessageDeflate: false, headers });
    this.socket.on('message', (data) => {
      const frame = decodeFrame(data as Buffer);
      if (frame) this.heard.push(frame);
      this.wake();
    });
    this.socket.on('error', (error) => (this.failed = error.message));
    this.socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
      this.wake();
    });
  }

  /** The next frame that was not taken yet; null when the socket is closed. */
  async next(): Promise<Frame | null> {
    for (const end = Date.now() + 90_000; Date.now() < end;) {
      const frame = this.heard.shift();
      if (frame) return frame;
      if (this.closed) return null;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
        setTimeout(resolve, 100);
      });
    }
    throw new Error('nothing was said');
  }

  send(header: object, body?: Buffer): void {
    this.socket.send(encodeFrame(header, body));
  }

  sendRaw(data: string | Buffer): void {
    this.socket.send(data, () => undefined);
  }

  /** Answers the challenge; `twist` may spoil it. @returns the verdict's header, null when cut */
  async greet(
    who: { deviceId: string; privateKey: KeyObject; code?: string },
    twist: (challenge: Challenge) => Challenge = (challenge) => challenge,
  ): Promise<Record<string, unknown> | null> {
    const challenge = await this.next();
    if (!challenge) return null;
    this.send(answerChallenge(twist(challenge.header as unknown as Challenge), who));
    return (await this.next())?.header ?? null;
  }

  async untilClosed(): Promise<{ code: number; reason: string }> {
    while (!this.closed) if ((await this.next()) === null) break;
    return this.closed!;
  }

  end(): void {
    this.socket.terminate();
  }
}

export function newKey(): KeyObject {
  return generateKeyPairSync('ed25519').privateKey;
}
