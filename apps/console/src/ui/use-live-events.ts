import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { followEvents, type LiveEvent } from '../api/live-events.js';

/**
 * Events of the merchant while the page can be seen: a hidden tab holds no connection, of which a browser has few.
 * @returns whether they come at this moment
 */
export function useLiveEvents(onEvent: (event: LiveEvent) => void): boolean {
  const [isOpen, setOpen] = useState(false);
  const isSeen = useIsSeen();
  const newest = useRef(onEvent);
  useEffect(() => {
    newest.current = onEvent;
  }, [onEvent]);
  useEffect(() => {
    if (!isSeen) return;
    const end = new AbortController();
    void followEvents(end.signal, { onEvent: (event) => newest.current(event), onState: setOpen });
    return () => {
      end.abort();
      setOpen(false);
    };
  }, [isSeen]);
  return isOpen;
}

function useIsSeen(): boolean {
  return useSyncExternalStore(
    (notify) => {
      document.addEventListener('visibilitychange', notify);
      return () => document.removeEventListener('visibilitychange', notify);
    },
    () => document.visibilityState === 'visible',
  );
}
