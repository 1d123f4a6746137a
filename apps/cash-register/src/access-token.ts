import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inTransaction, type Sqlite } from './journal/database.js';
import type { Meta } from './journal/meta.js';

export interface TokenPlace {
  readonly db: Sqlite;
  readonly meta: Meta;
  /** The data folder: a token of the register's own also lies there as a file that only the owner can read. */
  readonly folder: string;
}

/**
 * The access token that the local API accepts. It comes from the settings or is drawn into the data folder, and a
 * person renews it on the screen. A renewed token is gone for good: the settings may still name it, it opens nothing.
 */
export class AccessToken {
  private current: string;
  private digest: Buffer;

  constructor(
    private readonly place: TokenPlace,
    configured: string | undefined,
  ) {
    const isInForce = configured !== undefined && !this.revoked().includes(hex(configured));
    this.current = isInForce ? configured : place.meta.getOrMake('api_key', draw);
    this.digest = sha256(this.current);
    if (isInForce) rmSync(this.file(), { force: true });
    else this.writeFile();
  }

  get value(): string {
    return this.current;
  }

  /** Takes the same time whatever is given. */
  matches(given: string): boolean {
    return timingSafeEqual(sha256(given), this.digest);
  }

  /** Draws another token; from here on the old one is refused. */
  renew(): string {
    const { db, meta } = this.place;
    const made = draw();
    const revoked = [...this.revoked(), hex(this.current)];
    inTransaction(db, () => {
      meta.set('api_key', made);
      meta.set('api_keys_revoked', JSON.stringify(revoked));
    });
    this.current = made;
    this.digest = sha256(made);
    // Crash before this: the file is written anew on the next start.
    this.writeFile();
    return made;
  }

  /** SHA-256 in hex of every token that was renewed. */
  private revoked(): string[] {
    return JSON.parse(this.place.meta.get('api_keys_revoked') ?? '[]') as string[];
  }

  private writeFile(): void {
    writeFileSync(this.file(), `${this.current}\n`, { mode: 0o600 });
  }

  private file(): string {
    return join(this.place.folder, 'api-key.txt');
  }
}

function draw(): string {
  return randomBytes(24).toString('base64url');
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function hex(text: string): string {
  return sha256(text).toString('hex');
}
