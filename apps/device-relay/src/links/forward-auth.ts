import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { sha256, type Clock } from '#runtime';
import { deriveKey, type Keyring } from '#secrets';

/** How far the clocks of two relays may be apart, and how long a call handed in may be on its way. */
const LIFETIME_MS = 30_000;
const PURPOSE = 'link-forwarding';

/** What the header says, in this order. */
interface Proof {
  keyId: string;
  time: string;
  nonce: string;
  /** SHA-256 of the body. */
  digest: string;
  mac: string;
}

/**
 * Proves to another relay that a call was handed in by one of us: HMAC with a key derived from SECRETS_KEY, over the relay
 * it is meant for, the time, a number used once and the digest of the body. The head alone shows whether the caller has the key,
 * so that no body of another caller is read. A reader of one cannot use it again or elsewhere.
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
    const digest = digestOf(body);
    const mac = this.mac({ keyId, time, nonce, digest }, relayId).toString('base64url');
    return [keyId, time, nonce, digest, mac].join('.');
  }

  /** Null: right, if the body is the one that the head announces; else why not. */
  refusalOfHead(header: string | undefined, relayId: string): string | null {
    const proof = proofIn(header);
    if (!proof || !this.keyring.keys.has(proof.keyId)) return 'malformed';
    const nowMs = this.clock.now().getTime();
    if (Math.abs(nowMs - Number(proof.time)) > LIFETIME_MS) return 'expired';
    const given = Buffer.from(proof.mac, 'base64url');
    const right = this.mac(proof, relayId);
    if (given.length !== right.length || !timingSafeEqual(given, right)) return 'wrong';
    return this.seen.has(proof.nonce) ? 'replayed' : null;
  }

  /** After the head was right. Null: the body is the announced one; else why not. A call is accepted once. */
  refusalOfBody(header: string | undefined, body: Buffer): string | null {
    const proof = proofIn(header);
    if (proof?.digest !== digestOf(body)) return 'wrong';
    const nowMs = this.clock.now().getTime();
    this.forget(nowMs);
    if (this.seen.has(proof.nonce)) return 'replayed';
    this.seen.set(proof.nonce, nowMs + 2 * LIFETIME_MS);
    return null;
  }

  private forget(nowMs: number): void {
    for (const [nonce, untilMs] of this.seen) {
      if (untilMs > nowMs) return;
      this.seen.delete(nonce);
    }
  }

  private mac({ keyId, time, nonce, digest }: Omit<Proof, 'mac'>, relayId: string): Buffer {
    const text = [relayId, time, nonce, digest].join('\n');
    return createHmac('sha256', deriveKey(this.keyring, PURPOSE, keyId))
      .update(text)
      .digest();
  }
}

function digestOf(body: Buffer): string {
  return sha256(body).toString('base64url');
}

function proofIn(header: string | undefined): Proof | null {
  const [keyId = '', time = '', nonce = '', digest = '', mac = '', ...rest] = (header ?? '').split('.', 6);
  return rest.length === 0 && /^\d{1,15}$/.test(time) ? { keyId, time, nonce, digest, mac } : null;
}
