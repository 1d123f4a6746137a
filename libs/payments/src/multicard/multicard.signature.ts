import { createHash } from 'node:crypto';
import { isSameHex } from '../same-hex.js';

/** The fields exactly as they came, as text. */
export interface MulticardSigned {
  uuid: string;
  /** Only in the scheme `success`. */
  storeId: string | null;
  invoiceId: string;
  amount: string;
}

/** Scheme `success`: the call whose answer decides. */
export function multicardSuccessSign({ storeId, invoiceId, amount }: MulticardSigned, secret: string): string {
  return createHash('md5')
    .update(`${storeId ?? ''}${invoiceId}${amount}${secret}`)
    .digest('hex');
}

/** Scheme `webhooks`: every change of a status. */
export function multicardWebhookSign({ uuid, invoiceId, amount }: MulticardSigned, secret: string): string {
  return createHash('sha1').update(`${uuid}${invoiceId}${amount}${secret}`).digest('hex');
}

/** By which of the two schemes a call is signed; null: by neither. */
export function multicardScheme(signed: MulticardSigned, sign: string, secret: string): 'success' | 'webhook' | null {
  if (signed.storeId !== null && isSameHex(multicardSuccessSign(signed, secret), sign)) return 'success';
  return isSameHex(multicardWebhookSign(signed, secret), sign) ? 'webhook' : null;
}
