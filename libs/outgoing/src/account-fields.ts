/** One field of an account at a service outside: where it is kept, and what it must look like. */
export interface AccountField {
  secret: boolean;
  required: boolean;
  pattern: RegExp;
  fallback?: string;
}

export type AccountFields = Readonly<Record<string, AccountField>>;

/** A field's value; of one that was not given its fallback, or nothing. */
export type ReadValue = (name: string) => string;

const TEXT = /^[\x21-\x7e]{1,200}$/;

export function field(more: Partial<AccountField> = {}): AccountField {
  return { secret: false, required: true, pattern: TEXT, ...more };
}

export function optional(more: Partial<AccountField> = {}): AccountField {
  return field({ required: false, ...more });
}

export const SECRET = field({ secret: true });

export function webAddress(fallback: string): AccountField {
  return optional({ pattern: /^https?:\/\/[^\s]{1,500}$/, fallback });
}

/** One of a few words; the first is the one that counts where nothing was chosen. */
export function choice(...words: readonly [string, ...string[]]): AccountField {
  const escaped = words.map((word) => word.replaceAll(/[^\w-]/g, String.raw`\$&`));
  return optional({ pattern: new RegExp(`^(${escaped.join('|')})$`), fallback: words[0] });
}

export function readerOf(fields: AccountFields, values: Readonly<Record<string, string>>): ReadValue {
  return (name) => values[name] ?? fields[name]?.fallback ?? '';
}

/** What may be shown of an account's values, and what is sealed. */
export interface SplitValues {
  values: Record<string, string>;
  /** Names of the secrets that are set. */
  secrets: string[];
  credentials: Record<string, string>;
}

export function splitSecrets(fields: AccountFields, all: Readonly<Record<string, string>>): SplitValues {
  const pick = (isSecret: boolean): Record<string, string> =>
    Object.fromEntries(Object.entries(all).filter(([name]) => (fields[name]?.secret === true) === isSecret));
  const credentials = pick(true);
  return { values: pick(false), secrets: Object.keys(credentials), credentials };
}
