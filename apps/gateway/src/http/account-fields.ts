import type { AccountFields, SplitValues } from '#outgoing';
import type { ProblemError } from '#problems';

type Values = Readonly<Record<string, string>>;

/** All that is wrong with the settings of an account at a provider, each at its field. */
export function settingFaults(
  provider: string,
  fields: AccountFields,
  given: Values,
  { isWhole }: { isWhole: boolean },
): ProblemError[] {
  const faults: ProblemError[] = [];
  for (const [name, value] of Object.entries(given)) {
    const known = Object.hasOwn(fields, name) ? fields[name] : undefined;
    const pointer = `/settings/${name}`;
    if (!known) faults.push({ pointer, code: 'unknown_field', detail: `${provider} has no setting of this name` });
    else if (typeof value !== 'string' || !known.pattern.test(value))
      faults.push({ pointer, code: 'invalid_format', detail: 'has not the form that this provider gives it' });
  }
  for (const [name, { required }] of Object.entries(fields))
    if (isWhole && required && given[name] === undefined)
      faults.push({ pointer: `/settings/${name}`, code: 'required', detail: `${provider} needs ${name}` });
  return faults;
}

/**
 * A stored secret was entered for the place that stood beside it: a caller that could change that alone would have the secret sent to a
 * place of another choice. So such a change needs each secret that is set, in the same call.
 * @param places fields that say where the secrets are sent
 */
export function keptSecretFaults(
  fields: AccountFields,
  stored: Pick<SplitValues, 'values' | 'secrets'>,
  given: Values,
  places: readonly string[],
): ProblemError[] {
  const before = (name: string): string | undefined => stored.values[name] ?? fields[name]?.fallback;
  const isMoved = places.some((name) => given[name] !== undefined && given[name] !== before(name));
  if (!isMoved) return [];
  const missing = stored.secrets.filter((name) => given[name] === undefined);
  const detail = 'a changed address needs the secret again, in the same call';
  return missing.map((name) => ({ pointer: `/settings/${name}`, code: 'secret_required', detail }));
}
