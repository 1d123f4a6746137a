/**
 * Of a form what was changed in it, beside what it showed at first: the rest may have been changed meanwhile by another person, and stays
 * as it is then.
 */
export function changedFields<T extends object>(shown: NoInfer<T>, typed: T): Partial<T> {
  const before = new Map(Object.entries(shown).map(([name, value]) => [name, JSON.stringify(value)]));
  const changed = Object.entries(typed).filter(([name, value]) => before.get(name) !== JSON.stringify(value));
  return Object.fromEntries(changed) as Partial<T>;
}
