import { createHash } from 'node:crypto';
import { isSameHex } from '../same-hex.js';

/** The fields of a SHOP call exactly as they came: the amount is never written anew. */
export interface ClickSigned {
  clickTransId: string;
  serviceId: string;
  merchantTransId: string;
  /** Null for Prepare. */
  merchantPrepareId: string | null;
  amount: string;
  action: string;
  signTime: string;
}

export function clickSignature(signed: ClickSigned, secretKey: string): string {
  const { clickTransId, serviceId, merchantTransId, merchantPrepareId, amount, action, signTime } = signed;
  const text = [clickTransId, serviceId, secretKey, merchantTransId, merchantPrepareId ?? '', amount, action, signTime];
  return createHash('md5').update(text.join('')).digest('hex');
}

export function isClickSigned(signed: ClickSigned, signature: string, secretKey: string): boolean {
  return isSameHex(clickSignature(signed, secretKey), signature);
}

/** The `Auth` header of the Merchant API. */
export function clickAuth(merchantUserId: string, secretKey: string, nowSeconds: number): string {
  const digest = createHash('sha1')
    .update(`${String(nowSeconds)}${secretKey}`)
    .digest('hex');
  return `${merchantUserId}:${digest}:${String(nowSeconds)}`;
}
