import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { isPublicUnicast, parseCidr, type Cidr } from '#outgoing';
import { StartFailure } from './start-failure.js';

type Reading<T> = { kind: 'ok'; value: T } | { kind: 'invalid'; must: string };

/** How one environment variable is read. Made by `text()`, `port()` …; refined by `.default()` and `.optional()`. */
export class Field<T> {
  constructor(
    readonly read: (raw: string) => Reading<T>,
    readonly options: { readonly fallback?: () => T; readonly showValue?: boolean } = {},
  ) {}

  /** Used when the variable is unset or empty. */
  default(value: T): Field<T> {
    return new Field(this.read, { ...this.options, fallback: () => value });
  }

  /** `undefined` when the variable is unset or empty. */
  optional(): Field<T | undefined> {
    return new Field<T | undefined>(this.read, { ...this.options, fallback: () => undefined });
  }
}

export type SettingsTable = Readonly<Record<string, Field<unknown>>>;
export type Settings<Table extends SettingsTable> = {
  readonly [Key in keyof Table]: Table[Key] extends Field<infer T> ? T : never;
};
export type Environment = Readonly<Record<string, string | undefined>>;

/** Names every bad variable at once. The message is one sentence for the console and repeats no secret. */
export class SettingsError extends StartFailure {
  override readonly name = 'SettingsError';

  constructor(readonly faults: readonly { key: string; fault: string }[]) {
    super(
      `Cannot start, please correct the settings: ${faults.map(({ key, fault }) => `${key} ${fault}`).join('; ')}.`,
    );
  }
}

/**
 * Reads the environment once, typed by the table.
 * @throws SettingsError naming all variables that are missing or unusable.
 */
export function readSettings<Table extends SettingsTable>(table: Table, env: Environment): Settings<Table> {
  const values: Record<string, unknown> = {};
  const faults: { key: string; fault: string }[] = [];
  for (const [key, field] of Object.entries(table)) {
    const raw = env[key]?.trim();
    if (raw === undefined || raw === '') {
      if (field.options.fallback) values[key] = field.options.fallback();
      else faults.push({ key, fault: 'is missing' });
      continue;
    }
    const reading = field.read(raw);
    if (reading.kind === 'ok') values[key] = reading.value;
    else faults.push({ key, fault: `must be ${reading.must}${field.options.showValue ? `, not ${shown(raw)}` : ''}` });
  }
  if (faults.length > 0) throw new SettingsError(faults);
  // Every key of the table was filled by a field of the type that the table names.
  return values as Settings<Table>;
}

export function text(): Field<string> {
  return new Field((raw) => ok(raw));
}

/** A whole number within the bounds, both inclusive. */
export function integer(bounds: { min?: number; max?: number } = {}): Field<number> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = bounds;
  return new Field(
    (raw) => {
      const value = Number(raw);
      const fits = /^-?\d+$/.test(raw) && Number.isSafeInteger(value) && value >= min && value <= max;
      return fits ? ok(value) : invalid(`a whole number from ${String(min)} to ${String(max)}`);
    },
    { showValue: true },
  );
}

/** Processes of one program: a number, or `auto` for one on each processor. */
export function workers(): Field<number> {
  const number = integer({ min: 1, max: 256 });
  return new Field(
    (raw) => {
      if (raw === 'auto') return ok(availableParallelism());
      const reading = number.read(raw);
      return reading.kind === 'ok' ? reading : invalid(`${reading.must}, or auto`);
    },
    { showValue: true },
  );
}

/** 0 lets the system choose. */
export function port(): Field<number> {
  return integer({ min: 0, max: 65_535 });
}

export function boolean(): Field<boolean> {
  return new Field(
    (raw) => {
      if (['true', '1', 'yes', 'on'].includes(raw.toLowerCase())) return ok(true);
      if (['false', '0', 'no', 'off'].includes(raw.toLowerCase())) return ok(false);
      return invalid('true or false');
    },
    { showValue: true },
  );
}

export function oneOf<const Values extends readonly string[]>(values: Values): Field<Values[number]> {
  return new Field(
    (raw) => {
      const found = values.find((value) => value === raw);
      return found === undefined ? invalid(`one of ${values.join(', ')}`) : ok(found);
    },
    { showValue: true },
  );
}

/** An absolute URL as text, with one of the schemes, e.g. `url(['http', 'https'])`. It may hold a password: never shown. */
export function url(schemes: readonly string[]): Field<string> {
  const must = `a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`;
  return new Field((raw) => {
    if (!URL.canParse(raw)) return invalid(must);
    return schemes.some((scheme) => new URL(raw).protocol === `${scheme}:`) ? ok(raw) : invalid(must);
  });
}

/** Scheme, host and port alone, as `https://host` without a slash at the end. */
export function origin(schemes: readonly string[]): Field<string> {
  const must = `${schemes.map((scheme) => `${scheme}://`).join(' or ')} with host and port, and without a path`;
  return new Field((raw) => {
    if (!URL.canParse(raw)) return invalid(must);
    const { protocol, pathname, search, hash, username, password, origin } = new URL(raw);
    const isBare = pathname === '/' && search + hash + username + password === '' && !/[?#]/.test(raw);
    return isBare && schemes.some((scheme) => protocol === `${scheme}:`) ? ok(origin) : invalid(must);
  });
}

/** Comma-separated URLs. */
export function urlList(schemes: readonly string[]): Field<readonly string[]> {
  return listOf(url(schemes));
}

/** Comma-separated exact networks. `true`, hop counts and `/0` are refused (see cidr.ts). */
export function cidrList(): Field<readonly Cidr[]> {
  const one = new Field<Cidr>((raw) => {
    const parse = parseCidr(raw);
    return parse.kind === 'ok' ? ok(parse.cidr) : invalid(`a list of networks such as 10.0.0.0/8 (${parse.reason})`);
  });
  return new Field(listOf(one).read, { showValue: true });
}

/** A private network may be the proxies' own. */
const WIDEST_PRIVATE_PROXIES = 8;
/** Wider than any that a content delivery network publishes (the widest: /12 and /29). */
const WIDEST_PUBLIC_PROXIES: Readonly<Record<Cidr['family'], number>> = { ipv4: 12, ipv6: 28 };

/** Networks of proxies. One that is half of the internet would let every caller choose its own address. */
export function proxyList(): Field<readonly Cidr[]> {
  const networks = cidrList();
  const read = (raw: string): Reading<readonly Cidr[]> => {
    const reading = networks.read(raw);
    const wide = reading.kind === 'ok' ? reading.value.find(isTooWideForProxies) : undefined;
    return wide ? invalid(`the exact networks of the proxies (${wide.text} is too wide)`) : reading;
  };
  return new Field(read, networks.options);
}

function isTooWideForProxies({ address, prefix, family }: Cidr): boolean {
  return prefix < (isPublicUnicast(address) ? WIDEST_PUBLIC_PROXIES[family] : WIDEST_PRIVATE_PROXIES);
}

/** A file system path, made absolute against the working directory. */
export function path(): Field<string> {
  return new Field((raw) => ok(resolve(raw)));
}

/** A field that reads through a parser which throws an `Error` saying what the value must be. Never shown. */
export function parsed<T>(parse: (raw: string) => T): Field<T> {
  return new Field((raw) => {
    try {
      return ok(parse(raw));
    } catch (error) {
      return invalid(error instanceof Error ? error.message : String(error));
    }
  });
}

/** The bytes when the text is exactly `length` bytes in hex, base64 or base64url; else `null`. */
export function decodeBytes(raw: string, length: number): Buffer | null {
  if (/^[0-9a-fA-F]+$/.test(raw) && raw.length === length * 2) return Buffer.from(raw, 'hex');
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(raw)) return null;
  const bytes = Buffer.from(raw, 'base64');
  return bytes.length === length ? bytes : null;
}

function listOf<T>(item: Field<T>): Field<readonly T[]> {
  return new Field((raw) => {
    const values: T[] = [];
    for (const part of raw.split(',').map((entry) => entry.trim())) {
      if (part === '') continue;
      const reading = item.read(part);
      if (reading.kind === 'invalid') return reading;
      values.push(reading.value);
    }
    return ok(values);
  });
}

function ok<T>(value: T): Reading<T> {
  return { kind: 'ok', value };
}

function invalid(must: string): { kind: 'invalid'; must: string } {
  return { kind: 'invalid', must };
}

function shown(raw: string): string {
  return JSON.stringify(raw.length > 40 ? `${raw.slice(0, 40)}…` : raw);
}
