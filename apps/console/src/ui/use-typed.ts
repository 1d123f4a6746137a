import { useState } from 'react';

/** What is typed into a form that keeps no draft: passwords and keys, and what is asked for in a moment. */
export function useTyped<T extends object>(initial: T): [T, (change: Partial<T>) => void] {
  const [typed, setTyped] = useState(initial);
  return [typed, (change) => setTyped((before) => ({ ...before, ...change }))];
}
