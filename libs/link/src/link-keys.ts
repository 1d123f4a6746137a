import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A key file that is there and cannot be used: a person must act, a fresh key would need a fresh code. */
export class LinkKeyError extends Error {
  override readonly name = 'LinkKeyError';
}

interface StoredKey {
  /** PKCS #8, PEM. */
  privateKey: string;
  deviceId: string;
  /** SHA-256 in hex of the code that this key was left with. */
  codeHash: string;
}

export interface UsableKey {
  privateKey: KeyObject;
  /** Given as long as the relay has not accepted this key. */
  code?: string;
}

const KEY_FILE = 'link-key.json';
const NEW_KEY_FILE = 'link-key.new.json';

/**
 * The register's own keys, in its data folder, readable by its owner alone. Each enrolment code gets a fresh key, written
 * down before it is shown to anybody: whenever the answer to an enrolment is lost, the same key and code are sent again,
 * and the relay recognises the key.
 */
export class LinkKeys {
  private current: StoredKey | null;
  private candidate: StoredKey | null = null;

  /** @throws LinkKeyError */
  constructor(
    private readonly folder: string,
    private readonly deviceId: string,
    private readonly code: string | undefined,
  ) {
    mkdirSync(folder, { recursive: true });
    this.current = this.read(KEY_FILE);
    if (code === undefined || this.current?.codeHash === hashOf(code)) return;
    const begun = this.read(NEW_KEY_FILE);
    this.candidate = begun?.codeHash === hashOf(code) ? begun : this.draw(code);
  }

  /** Null: there is no key yet, and no code to enrol one with. */
  get usable(): UsableKey | null {
    const stored = this.candidate ?? this.current;
    if (!stored) return null;
    const privateKey = createPrivateKey(stored.privateKey);
    return this.candidate && this.code !== undefined ? { privateKey, code: this.code } : { privateKey };
  }

  /** The relay has the key of `usable`. */
  accept(): void {
    if (!this.candidate) return;
    renameSync(this.file(NEW_KEY_FILE), this.file(KEY_FILE));
    this.current = this.candidate;
    this.candidate = null;
  }

  /** The code is worth nothing. @returns whether an older key is left to try */
  dropCode(): boolean {
    this.candidate = null;
    rmSync(this.file(NEW_KEY_FILE), { force: true });
    return this.current !== null;
  }

  private draw(code: string): StoredKey {
    const { privateKey } = generateKeyPairSync('ed25519');
    const stored: StoredKey = {
      privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
      deviceId: this.deviceId,
      codeHash: hashOf(code),
    };
    // Whole or not at all, and never readable by others.
    const draft = `${this.file(NEW_KEY_FILE)}.tmp`;
    rmSync(draft, { force: true });
    writeFileSync(draft, `${JSON.stringify(stored)}\n`, { mode: 0o600, flush: true });
    renameSync(draft, this.file(NEW_KEY_FILE));
    return stored;
  }

  /** A key for another device than the one of LINK_URL counts as none. */
  private read(name: string): StoredKey | null {
    if (!existsSync(this.file(name))) return null;
    try {
      const { privateKey, deviceId, codeHash } = JSON.parse(
        readFileSync(this.file(name), 'utf8'),
      ) as Partial<StoredKey>;
      if (privateKey === undefined || deviceId === undefined || codeHash === undefined)
        throw new Error('fields are missing');
      createPrivateKey(privateKey);
      return deviceId === this.deviceId ? { privateKey, deviceId, codeHash } : null;
    } catch (error) {
      throw new LinkKeyError(`The link's key in ${this.file(name)} cannot be read.`, { cause: error });
    }
  }

  private file(name: string): string {
    return join(this.folder, name);
  }
}

function hashOf(code: string): string {
  return createHash('sha256').update(code).digest('hex');
}
