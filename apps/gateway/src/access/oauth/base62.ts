import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_BYTES = 32;
/** 62^43 > 2^256, 62^6 > 2^32. */
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;

/**
 * `<prefix>` + 32 random bytes + a checksum, in base62: letters and digits survive every encoding, the prefix lets
 * scanners find a leaked one, the checksum shows a mistyped one without asking the database.
 */
export function newOpaqueSecret(prefix: string): string {
  const body = prefix + base62(BigInt(`0x${randomBytes(SECRET_BYTES).toString('hex')}`), SECRET_LENGTH);
  return body + checksum(body);
}

export function isOpaqueSecret(prefix: string, text: string): boolean {
  if (text.length !== prefix.length + SECRET_LENGTH + CHECKSUM_LENGTH || !text.startsWith(prefix)) return false;
  const body = text.slice(0, -CHECKSUM_LENGTH);
  return text.endsWith(checksum(body));
}

function checksum(text: string): string {
  return base62(BigInt(crc32(text)), CHECKSUM_LENGTH);
}

function base62(value: bigint, length: number): string {
  let digits = '';
  for (let rest = value; digits.length < length; rest /= 62n) digits = (DIGITS[Number(rest % 62n)] ?? '') + digits;
  return digits;
}
