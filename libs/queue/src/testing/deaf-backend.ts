import type { LaneQueueBackend } from '../lane-queue-backend.js';

/** A back end that counts how many workers were opened on it. */
export function counted(backend: LaneQueueBackend): { backend: LaneQueueBackend; workers: () => number } {
  let workers = 0;
  const connect: LaneQueueBackend['connect'] = (side, onError) => {
    if (side === 'listener') workers += 1;
    return backend.connect(side, onError);
  };
  return { backend: { ...backend, connect }, workers: () => workers };
}

/** A back end on which the claims of the first worker are never answered, nor refused: so does a client of a cluster that has ended its reconnecting. */
export function deafAtFirst(backend: LaneQueueBackend): { backend: LaneQueueBackend; workers: () => number } {
  const { backend: inner, workers } = counted(backend);
  const connect: LaneQueueBackend['connect'] = (side, onError) => {
    const connected = inner.connect(side, onError);
    if (side === 'bell' || workers() > 1) return connected;
    return {
      ...connected,
      factory: (name, options, more) => {
        const deaf = connected.factory(name, options, more);
        deaf.moveToActive = () => new Promise(() => undefined);
        return deaf;
      },
    };
  };
  return { backend: { ...inner, connect }, workers };
}
