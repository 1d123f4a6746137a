import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { deriveKey, sha256, type Clock, type Keyring } from '#runtime';

/** How far the clocks of two relays may be apart, and how long a call handed in may be on its way. */
const LIFETIME_MS = 30_000;
const PURPOSE = 'link-forwarding';

/**
 * Proves to another relay that a call was handed in by one of us: HMAC with a key derived from SECRETS_KEY, over the relay
 * it is meant for, the time, a number used once and the body. Whoever reads one cannot use it again or elsewhere.
 */
export class ForwardAuth {
  /** Numbers seen within their lifetime, with the moment at which they may be forgotten, oldest first. */
  private readonly seen = new Map<string, number>();

  constructor(
    private readonly keyring: Keyring,
    private readonly clock: Clock,
  ) {}

  sign(relayId: string, body: Buffer): string {
    const keyId = this.keyring.active;
    const time = String(this.clock.now().getTime());
    const nonce = randomBytes(16).toString('base64url');
    return [keyId, time, nonce, this.mac({ keyId, time, nonce, relayId, body }).toString('base64url')].join('.');
  }

  /** Null: its body decides; else why it is refused whatever the body is. */
  refusalOfHead(header: string | undefined): 'malformed' | 'expired' | null {
    const [keyId = '', time = '', , , ...rest] = (header ?? '').split('.');
    if (rest.length > 0 || !/^\d{1,15}$/.test(time) || !this.keyring.keys.has(keyId)) return 'malformed';
    return Math.abs(this.clock.now().getTime() - Number(time)) > LIFETIME_MS ? 'expired' : null;
  }

  /** Null: right; else why not. A call that was accepted once is refused the second time. */
  refusalOf(header: string | undefined, relayId: string, body: Buffer): string | null {
    const refusal = this.refusalOfHead(header);
    if (refusal !== null) return refusal;
    const [keyId = '', time = '', nonce = '', mac = ''] = (header ?? '').split('.');
    const given = Buffer.from(mac, 'base64url');
    const right = this.mac({ keyId, time, nonce, relayId, body });
    if (given.length !== right.length || !timingSafeEqual(given, right)) return 'wrong';
    const nowMs = this.clock.now().getTime();
    this.forget(nowMs);
    if (this.seen.has(nonce)) return 'replayed';
    this.seen.set(nonce, nowMs + 2 * LIFETIME_MS);
    return null;
  }

  private forget(nowMs: number): void {
    for (const [nonce, untilMs] of this.seen) {
      if (untilMs > nowMs) return;
      this.seen.delete(nonce);
    }
  }

  private mac(parts: { keyId: string; time: string; nonce: string; relayId: string; body: Buffer }): Buffer {
    const { keyId, time, nonce, relayId, body } = parts;
    const text = [relayId, time, nonce, sha256(body).toString('base64url')].join('\n');
    return createHmac('sha256', deriveKey(this.keyring, PURPOSE, keyId))
      .update(text)
      .digest();
  }
}
