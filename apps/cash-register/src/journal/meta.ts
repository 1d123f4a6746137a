import type { Sqlite } from './database.js';

/** Facts about this data folder that are made once: journal id, API key, activation. */
export class Meta {
  private readonly byKey;

  constructor(private readonly db: Sqlite) {
    this.byKey = db.prepare('SELECT value FROM meta WHERE key = ?');
  }

  get(key: string): string | null {
    const row = this.byKey.get(key) as { value: string } | undefined;
    return row?.value ?? null;
  }

  set(key: string, value: string): void {
    this.db
      .prepare('INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value')
      .run(key, value);
  }

  /** The stored value, or `make()` stored now. */
  getOrMake(key: string, make: () => string): string {
    const known = this.get(key);
    if (known !== null) return known;
    const made = make();
    this.set(key, made);
    return made;
  }
}
