import type { LocalExtraInfo } from './local-api.js';

const PAYMENT_ID = /^[\x21-\x7e]{1,36}$/;
const PHONE = /^998\d{9}$/;
const RRN = /^\d{1,16}$/;
const MAX_PROVIDER = 65_535;

/** What of this is as it has to be; null when nothing is. Never throws, whatever was parsed. */
export function readExtraInfo(value: unknown): LocalExtraInfo | null {
  if (typeof value !== 'object' || value === null) return null;
  const given = value as Readonly<Record<string, unknown>>;
  const text = (name: string, pattern: RegExp): string | undefined => {
    const found = given[name];
    return typeof found === 'string' && pattern.test(found) ? found : undefined;
  };
  const number = (name: string, max: number): number | undefined => {
    const found = given[name];
    return Number.isInteger(found) && Number(found) >= 1 && Number(found) <= max ? Number(found) : undefined;
  };
  const [paymentId, phone, rrn] = [text('paymentId', PAYMENT_ID), text('phone', PHONE), text('rrn', RRN)];
  const [paymentProvider, cardType] = [number('paymentProvider', MAX_PROVIDER), number('cardType', 3)];
  const info: LocalExtraInfo = {
    ...(paymentId !== undefined && { paymentId }),
    ...(paymentProvider !== undefined && { paymentProvider }),
    ...(phone !== undefined && { phone }),
    ...(rrn !== undefined && { rrn }),
    ...(cardType !== undefined && { cardType }),
  };
  return Object.keys(info).length > 0 ? info : null;
}
