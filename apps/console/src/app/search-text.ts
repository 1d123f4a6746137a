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

/** Reads of an address what stands under these names, where it is a text. */
export function textsIn<Name extends string>(
  ...names: readonly Name[]
): (given: Record<string, unknown>) => { [Key in Name]?: string } {
  return (given) => {
    const found: { [Key in Name]?: string } = {};
    for (const name of names) {
      const value = given[name];
      if (typeof value === 'string' && value !== '') found[name] = value;
    }
    return found;
  };
}
