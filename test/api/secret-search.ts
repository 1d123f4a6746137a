/** Shorter ones would be found by chance. */
const MIN_LENGTH = 12;

/** What must be found nowhere, and the search for it in any amount of text: one pass, however many secrets there are. */
export class SecretSearch {
  private readonly names = new Set<string>();
  private readonly byStart = new Map<string, [form: string, what: string][]>();
  /** Whether any form begins with characters of this hash: a check of this instead of a piece of text at nearly every place. */
  private readonly beginnings = new Uint8Array(2 ** 20);

  get size(): number {
    return this.names.size;
  }

  /** @param what it is called when it is found @returns the value */
  add(what: string, value: string): string {
    if (value.length < MIN_LENGTH) throw new Error(`${what} is too short to be searched for`);
    if (this.names.has(value)) return value;
    this.names.add(value);
    for (const form of formsOf(value)) {
      const start = form.slice(0, MIN_LENGTH);
      this.beginnings[beginningAt(form, 0)] = 1;
      const known = this.byStart.get(start);
      if (known) known.push([form, what]);
      else this.byStart.set(start, [[form, what]]);
    }
    return value;
  }

  /** Names of what stands there, in clear or as hex, base64 (also within a longer text) or in a URL. */
  findIn(text: string): string[] {
    const found = new Set<string>();
    for (let at = 0; at + MIN_LENGTH <= text.length; at += 1) {
      if (this.beginnings[beginningAt(text, at)] === 0) continue;
      const candidates = this.byStart.get(text.slice(at, at + MIN_LENGTH));
      for (const [form, what] of candidates ?? []) if (text.startsWith(form, at)) found.add(what);
    }
    return [...found];
  }
}

/** Of the five characters from there on, spread over 20 bits. */
function beginningAt(text: string, at: number): number {
  let hash = 0;
  for (let next = at; next < at + 5; next += 1) hash = (hash * 31 + text.charCodeAt(next)) | 0;
  return Math.imul(hash, 0x9e37_79b1) >>> 12;
}

function formsOf(value: string): Set<string> {
  const bytes = Buffer.from(value);
  const hex = bytes.toString('hex');
  const forms = [value, hex, hex.toUpperCase(), encodeURIComponent(value)];
  for (const encoding of ['base64', 'base64url'] as const)
    for (const before of [0, 1, 2]) forms.push(base64Within(bytes, before, encoding));
  // `whsec_` and the like: what is behind the name may be kept as the bytes that it means.
  const meant = Buffer.from(value.replace(/^[a-z]+_/, ''), 'base64');
  if (meant.length >= MIN_LENGTH) forms.push(meant.toString('hex'));
  return new Set(forms.filter((form) => form.length >= MIN_LENGTH));
}

/** What base64 of a text that holds these bytes looks like for certain, `before` bytes (modulo three) after its beginning. */
function base64Within(bytes: Buffer, before: number, encoding: 'base64' | 'base64url'): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString(encoding)
    .replace(/=+$/, '');
  const spoiltByNeighbours = ((before + bytes.length) * 8) % 6 === 0 ? 0 : 1;
  return text.slice(before === 0 ? 0 : before + 1, text.length - spoiltByNeighbours);
}
