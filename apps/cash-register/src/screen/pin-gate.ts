import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '#runtime';
import type { Meta } from '../journal/meta.js';

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number }, Buffer>(scrypt);
/** About 16 MiB and 50 ms on another thread: sales do not wait for a login. */
const COST = { N: 16_384, r: 8, p: 1 };
const KEY_BYTES = 32;

const FREE_ATTEMPTS = 3;
const FIRST_DELAY_MS = 30_000;
const LONGEST_DELAY_MS = 60 * 60 * 1000;

export type PinCheck =
  | { readonly kind: 'right' }
  | { readonly kind: 'wrong' }
  | { readonly kind: 'locked'; readonly waitMs: number };

interface Attempts {
  readonly failures: number;
  readonly lastMs: number;
}

/**
 * The PIN of the register and the attempts at it. Both lie in the data folder: a restart resets nothing. The delay is
 * the register's, not a visitor's: a PIN is too short to grant every address its own attempts.
 */
export class PinGate {
  constructor(
    private readonly meta: Meta,
    private readonly clock: Clock,
    private readonly folder: string,
  ) {
    if (existsSync(this.resetFile())) {
      meta.set('screen_pin', '');
      meta.set('screen_attempts', '');
      meta.set('activation_code', '');
      // Crash before this: the PIN, still unset, is unset once more.
      rmSync(this.resetFile());
    }
  }

  isSet(): boolean {
    return (this.meta.get('screen_pin') ?? '') !== '';
  }

  /** @returns false when another visitor was first: a first PIN replaces none. */
  async setFirst(pin: string): Promise<boolean> {
    const salt = randomBytes(16);
    const key = await derive(pin, salt, KEY_BYTES, COST);
    if (this.isSet()) return false;
    this.store(salt, key);
    return true;
  }

  async replace(pin: string): Promise<void> {
    const salt = randomBytes(16);
    this.store(salt, await derive(pin, salt, KEY_BYTES, COST));
  }

  async check(pin: string): Promise<PinCheck> {
    const [, cost, salt, expected] = (this.meta.get('screen_pin') ?? '').split('$');
    if (cost === undefined || salt === undefined || expected === undefined) return { kind: 'wrong' };
    return this.attempt(async () => {
      const key = await derive(pin, Buffer.from(salt, 'base64'), KEY_BYTES, { ...COST, N: Number(cost) });
      return timingSafeEqual(key, Buffer.from(expected, 'base64'));
    });
  }

  /** Proves that a visitor from elsewhere can read the data folder now: drawn when first asked for, and good for one PIN. */
  prepareCode(): void {
    const known = this.meta.get('activation_code') ?? '';
    const code = known === '' ? randomBytes(8).toString('hex') : known;
    if (known === '') this.meta.set('activation_code', code);
    writeFileSync(this.codeFile(), `${code}\n`, { mode: 0o600 });
  }

  checkCode(code: string): Promise<PinCheck> {
    const expected = this.meta.get('activation_code');
    const given = Buffer.from(code.trim().toLowerCase().padEnd(16).slice(0, 16));
    return this.attempt(() =>
      Promise.resolve(
        expected !== null && given.length === expected.length && timingSafeEqual(given, Buffer.from(expected)),
      ),
    );
  }

  /** How long no attempt is allowed; 0 when one is. */
  waitMs(): number {
    const { failures, lastMs } = this.attempts();
    const delayMs = delayAfter(failures);
    const sinceMs = this.clock.now().getTime() - lastMs;
    // A clock that was set back must not lock the owner out for as long: the delay begins anew, once.
    if (sinceMs < 0 && delayMs > 0) this.write({ failures, lastMs: this.clock.now().getTime() });
    return Math.max(0, delayMs - Math.max(0, sinceMs));
  }

  private store(salt: Buffer, key: Buffer): void {
    this.meta.set('screen_pin', ['scrypt', COST.N, salt.toString('base64'), key.toString('base64')].join('$'));
    this.meta.set('screen_attempts', '');
    this.meta.set('activation_code', '');
    rmSync(this.codeFile(), { force: true });
  }

  /**
   * Counts the attempt as failed before comparing: many at once, or a crash in between, gain nothing.
   */
  private async attempt(isRight: () => Promise<boolean>): Promise<PinCheck> {
    const waitMs = this.waitMs();
    if (waitMs > 0) return { kind: 'locked', waitMs };
    this.write({ failures: this.attempts().failures + 1, lastMs: this.clock.now().getTime() });
    if (!(await isRight())) return { kind: 'wrong' };
    this.meta.set('screen_attempts', '');
    return { kind: 'right' };
  }

  private attempts(): Attempts {
    const stored = this.meta.get('screen_attempts') ?? '';
    return stored === '' ? { failures: 0, lastMs: 0 } : (JSON.parse(stored) as Attempts);
  }

  private write(attempts: Attempts): void {
    this.meta.set('screen_attempts', JSON.stringify(attempts));
  }

  private resetFile(): string {
    return join(this.folder, 'reset-pin');
  }

  private codeFile(): string {
    return join(this.folder, 'activation-code.txt');
  }
}

/** 30 s after the third failure, then twice as long each time, at most an hour. */
export function delayAfter(failures: number): number {
  if (failures < FREE_ATTEMPTS) return 0;
  return Math.min(FIRST_DELAY_MS * 2 ** (failures - FREE_ATTEMPTS), LONGEST_DELAY_MS);
}

/** 6 to 12 digits, neither all the same nor counting up or down. */
export function isGoodPin(pin: string): boolean {
  if (!/^\d{6,12}$/.test(pin)) return false;
  const steps = new Set([...pin].slice(1).map((digit, index) => Number(digit) - Number(pin[index])));
  const [only] = steps;
  return steps.size > 1 || ![0, 1, -1].includes(only ?? 0);
}
