import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** 96 bit: nobody finds a receipt by trying. */
const TOKEN_BYTES = 12;

/**
 * Public address of a receipt's page. The token is the receipt's own number and a keyed digest of it: it needs no
 * column and cannot be guessed. It changes when SECRETS_KEY rotates; the page opens under every key of the ring.
 */
export class ReceiptUrls {
  /** Address of all pages; a token needs no escaping in it. */
  private readonly base: string;
  private readonly key: KeyObject;

  constructor(publicUrl: string, key: Buffer) {
    this.base = new URL('/r/', publicUrl).href;
    this.key = createSecretKey(key);
  }

  urlOf(receiptId: string): string {
    return this.base + this.tokenOf(receiptId);
  }

  private tokenOf(receiptId: string): string {
    const digest = createHmac('sha256', this.key).update(receiptId).digest().subarray(0, TOKEN_BYTES);
    return `${receiptId.slice('rcp_'.length)}.${digest.toString('base64url')}`;
  }
}
