/** Shorter ones would be found by chance. */
const MIN_LENGTH = 12;

/** What must be found nowhere, and the search for it in any amount of text: one pass, however many secrets there are. */
export class SecretSearch {
  private readonly names = new Map<string, string>();

  get size(): number {
    return this.names.size;
  }

  /** @param what it is called when it is found @returns the value */
  add(what: string, value: string): string {
    if (value.length < MIN_LENGTH) throw new Error(`${what} is too short to be looked for`);
    this.names.set(value, what);
    return value;
  }

  /** Names of what stands there, in clear or as hex, base64 or in a URL. */
  findIn(text: string): string[] {
    const found = new Set<string>();
    const byStart = this.byStart();
    for (let at = 0; at + MIN_LENGTH <= text.length; at += 1) {
      const candidates = byStart.get(text.slice(at, at + MIN_LENGTH));
      for (const [form, what] of candidates ?? []) if (text.startsWith(form, at)) found.add(what);
    }
    return [...found];
  }

  private byStart(): Map<string, [form: string, what: string][]> {
    const byStart = new Map<string, [string, string][]>();
    for (const [value, what] of this.names) {
      for (const form of formsOf(value)) {
        const start = form.slice(0, MIN_LENGTH);
        byStart.set(start, [...(byStart.get(start) ?? []), [form, what]]);
      }
    }
    return byStart;
  }
}

function formsOf(value: string): Set<string> {
  const bytes = Buffer.from(value);
  const base64 = bytes.toString('base64').replace(/=+$/, '');
  return new Set([value, bytes.toString('hex'), base64, bytes.toString('base64url'), encodeURIComponent(value)]);
}
