/** Addresses are read by people and shared: plain names and texts, no JSON in them. */
export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (typeof value === 'string' && value !== '') given.set(name, value);
  }
  return given.size === 0 ? '' : `?${given.toString()}`;
}
