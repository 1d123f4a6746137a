const MAX_LENGTH = 256;

/** What a provider may call a person, a session or a token: it is looked up in the database. */
export function isProviderName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH && !value.includes('\u0000');
}
