/** Without what a PATCH leaves out. */
export function given<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** In an optional field null means the same as leaving it out. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}
