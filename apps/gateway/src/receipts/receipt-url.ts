import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import { isId } from '#fiscal-domain';

/** 96 bit: a receipt cannot be found by guessing. */
const TOKEN_BYTES = 12;
const TOKEN = /^((?:test_)?[0-9a-z]{26})\.([A-Za-z0-9_-]{16})$/;

/**
 * Public address of a receipt's page. The token is the receipt's own number and a keyed digest of it: it needs no
 * column and cannot be guessed. It changes when SECRETS_KEY rotates; the page opens under every key of the ring.
 */
export class ReceiptUrls {
  /** Address of all pages; a token needs no escaping in it. */
  private readonly base: string;
  private readonly key: KeyObject;
  private readonly keys: readonly KeyObject[];

  /** @param olderKeys of the ring: printed addresses live as long as the key that made them */
  constructor(publicUrl: string, key: Buffer, olderKeys: readonly Buffer[] = []) {
    this.base = new URL('/r/', publicUrl).href;
    this.key = createSecretKey(key);
    this.keys = [this.key, ...olderKeys.map((older) => createSecretKey(older))];
  }

  urlOf(receiptId: string): string {
    const number = receiptId.slice('rcp_'.length);
    return `${this.base}${number}.${digestOf(receiptId, this.key).toString('base64url')}`;
  }

  /** The receipt that a token opens; null for one that none of our keys made. Asks no database. */
  receiptIdOf(token: string): string | null {
    const [, number = '', digest = ''] = TOKEN.exec(token) ?? [];
    const receiptId = `rcp_${number}`;
    if (!isId('rcp', receiptId)) return null;
    const given = Buffer.from(digest, 'base64url');
    // All keys are tried, so that the time discloses nothing about which one fits.
    const fits = this.keys.map((key) => timingSafeEqual(digestOf(receiptId, key), given));
    return fits.includes(true) ? receiptId : null;
  }
}

function digestOf(receiptId: string, key: KeyObject): Buffer {
  return createHmac('sha256', key).update(receiptId).digest().subarray(0, TOKEN_BYTES);
}
