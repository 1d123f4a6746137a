import { useCallback, useRef, useState } from 'react';

/** What was typed outlives a reload and a lost session, in this tab alone. Never for passwords and keys. */
export function useDraft<T extends object>(
  key: string,
  initial: T,
): [T, (change: Partial<T>) => void, (next?: T) => void] {
  const name = `draft:${key}`;
  const [found] = useState(() => kept<T>(name));
  const typed = useRef(found);
  const [value, setValue] = useState<T>(() => ({ ...initial, ...found }));
  const change = useCallback(
    (part: Partial<T>) => {
      typed.current = { ...typed.current, ...part };
      // At once, not with the next rendering: what is sent now is kept by then. What was not touched is not kept.
      sessionStorage.setItem(name, JSON.stringify(typed.current));
      setValue((before) => ({ ...before, ...part }));
    },
    [name],
  );
  /** Nothing is kept any more; shown is what was saved, or what the form began with. */
  const clear = useCallback(
    (next: T = initial) => {
      typed.current = {};
      sessionStorage.removeItem(name);
      setValue(next);
      // The initial value is that of the first rendering
    },
    [name],
  );
  return [value, change, clear];
}

/** Of another user or another version of the form: at worst fields that the form does not read. */
function kept<T>(name: string): Partial<T> {
  const text = sessionStorage.getItem(name);
  if (text === null) return {};
  const value: unknown = JSON.parse(text);
  return typeof value === 'object' && value !== null ? value : {};
}

/** At the end of a session nothing typed stays for the next person. */
export function forgetDrafts(): void {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith('draft:')) sessionStorage.removeItem(name);
}
