import { isObject, textAt, type WireObject } from '../wire.js';
import { multicardScheme, type MulticardSigned } from './multicard.signature.js';

export interface MulticardCall {
  /** `success`: the answer decides whether the money stays. `webhook`: a hint that something changed. */
  scheme: 'success' | 'webhook';
  uuid: string;
  /** Our payment's id. */
  invoiceId: string;
  amountTiyin: number;
  /** What a webhook says of the payment; null where the scheme has no such field. */
  status: string | null;
}

export type MulticardReading = { kind: 'call'; call: MulticardCall } | { kind: 'fault'; detail: string };

/** @param body as it came; its fields go into the signature exactly as they stand there */
export function readMulticardCall(body: string, account: { storeId: string; secret: string }): MulticardReading {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    // Answered as a fault of the caller.
    return { kind: 'fault', detail: 'the body is not JSON' };
  }
  if (!isObject(parsed)) return { kind: 'fault', detail: 'the body is no object' };
  const signed = fieldsOf(parsed);
  const sign = textAt(parsed, 'sign');
  if (!signed || sign === null) return { kind: 'fault', detail: 'a field is missing' };
  // A till is known by a number and by a UUID; the callback names the number, whichever the account was set up with.
  const isNumbered = /^\d+$/.test(account.storeId);
  if (signed.storeId !== null && isNumbered && signed.storeId !== account.storeId)
    return { kind: 'fault', detail: 'another store' };
  const scheme = multicardScheme(signed, sign, account.secret);
  if (!scheme) return { kind: 'fault', detail: 'the signature is wrong' };
  const { uuid, invoiceId, amount } = signed;
  const status = scheme === 'webhook' ? textAt(parsed, 'status') : null;
  return { kind: 'call', call: { scheme, uuid, invoiceId, amountTiyin: Number(amount), status } };
}

/** `store_id` is a field of the scheme `success` alone. */
function fieldsOf(parsed: WireObject): MulticardSigned | null {
  const uuid = textAt(parsed, 'uuid');
  const invoiceId = textAt(parsed, 'invoice_id');
  const amount = textAt(parsed, 'amount');
  if (uuid === null || uuid.length > 64 || invoiceId === null || invoiceId.length > 255) return null;
  if (amount === null || !/^\d{1,15}$/.test(amount)) return null;
  return { uuid, storeId: textAt(parsed, 'store_id'), invoiceId, amount };
}
