import type { Prisma } from '#database';
import type { ProblemError } from '#problems';
import { MESSAGE_DEFINITIONS, type MessageProviderCode, type ReadValue } from '#messages';

export type AccountRow = Prisma.MessageAccountGetPayload<object>;

/** What `message_accounts.settings` holds. */
export interface StoredAccountSettings {
  values: Record<string, string>;
  /** Names of the secrets that are set. */
  secrets: string[];
}

export function storedSettings(row: Pick<AccountRow, 'settings'>): StoredAccountSettings {
  return row.settings as unknown as StoredAccountSettings;
}

export function reader(provider: MessageProviderCode, values: Readonly<Record<string, string>>): ReadValue {
  const { fields } = MESSAGE_DEFINITIONS[provider];
  return (name) => values[name] ?? fields[name]?.fallback ?? '';
}

/** All that is wrong with an account's settings, each at its field. */
export function settingFaults(provider: MessageProviderCode, given: Readonly<Record<string, string>>): ProblemError[] {
  const definition = MESSAGE_DEFINITIONS[provider];
  const { fields } = definition;
  const faults: ProblemError[] = [];
  for (const [name, value] of Object.entries(given)) {
    const known = Object.hasOwn(fields, name) ? fields[name] : undefined;
    const pointer = `/settings/${name}`;
    if (!known) faults.push({ pointer, code: 'unknown_field', detail: `${provider} has no setting of this name` });
    else if (typeof value !== 'string' || !known.pattern.test(value))
      faults.push({ pointer, code: 'invalid_format', detail: 'has not the form that this provider gives it' });
  }
  for (const [name, { required }] of Object.entries(fields))
    if (required && given[name] === undefined)
      faults.push({ pointer: `/settings/${name}`, code: 'required', detail: `${provider} needs ${name}` });
  if (faults.length > 0) return faults;
  const together = definition.faults?.(reader(provider, given)) ?? [];
  return together.map(({ field, detail }) => ({ pointer: `/settings/${field}`, code: 'invalid_value', detail }));
}

export function splitSecrets(
  provider: MessageProviderCode,
  values: Readonly<Record<string, string>>,
): { settings: StoredAccountSettings; credentials: Record<string, string> } {
  const { fields } = MESSAGE_DEFINITIONS[provider];
  const pick = (isSecret: boolean): Record<string, string> =>
    Object.fromEntries(Object.entries(values).filter(([name]) => (fields[name]?.secret === true) === isSecret));
  const credentials = pick(true);
  return { settings: { values: pick(false), secrets: Object.keys(credentials) }, credentials };
}

/**
 * A stored secret was entered for the place that stood beside it: a caller that could change that alone would have the secret sent to a
 * place of another choice. So such a change needs each secret that is set, in the same call.
 */
export function keptSecretFaults(
  provider: MessageProviderCode,
  stored: StoredAccountSettings,
  given: Readonly<Record<string, string>>,
): ProblemError[] {
  const { places, fields } = MESSAGE_DEFINITIONS[provider];
  const before = (name: string): string | undefined => stored.values[name] ?? fields[name]?.fallback;
  const isMoved = places.some((name) => given[name] !== undefined && given[name] !== before(name));
  if (!isMoved) return [];
  const missing = stored.secrets.filter((name) => given[name] === undefined);
  const detail = 'a changed address needs the secret again, in the same call';
  return missing.map((name) => ({ pointer: `/settings/${name}`, code: 'secret_required', detail }));
}
