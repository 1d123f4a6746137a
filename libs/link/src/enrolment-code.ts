import { createHash, randomBytes } from 'node:crypto';

/** Crockford's: without the letters that people read as digits. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 24;

/** 120 random bits that a person can type: six groups of four. */
export function newEnrolmentCode(): string {
  const letters = Array.from(randomBytes(LENGTH), (byte) => ALPHABET[byte % ALPHABET.length] ?? '');
  return (letters.join('').match(/.{4}/g) ?? []).join('-');
}

/** What is stored instead of a code: SHA-256 of its letters, however they were typed. */
export function hashEnrolmentCode(code: string): Buffer {
  const letters = code.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1');
  return createHash('sha256').update(letters).digest();
}
