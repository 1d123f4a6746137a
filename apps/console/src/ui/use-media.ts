import { useSyncExternalStore } from 'react';

/** Narrower than this, tables become cards. */
export const NARROW = '(max-width: 720px)';

export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (notify) => {
      const list = matchMedia(query);
      list.addEventListener('change', notify);
      return () => list.removeEventListener('change', notify);
    },
    () => matchMedia(query).matches,
  );
}
