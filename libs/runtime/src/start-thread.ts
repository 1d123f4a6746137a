import { Worker } from 'node:worker_threads';

export interface ThreadOptions {
  /** Of its own heap; a thread that needs more dies alone, with `ERR_WORKER_OUT_OF_MEMORY`. */
  heapMib: number;
  /** A clone of it is the thread's `workerData`. */
  data?: unknown;
}

/** Where the sources run as they are, in the tests, Node.js needs help to read them in a thread too. */
const SOURCE_HOOKS = import.meta.url.endsWith('.ts')
  ? ['--import', new URL('../../../scripts/lib/typescript-hooks.mjs', import.meta.url).href]
  : [];

/** A thread of this process with a heap of its own and none of our secrets. */
export function startThread(file: URL, { heapMib, data }: ThreadOptions): Worker {
  return new Worker(file, {
    workerData: data,
    env: {},
    execArgv: SOURCE_HOOKS,
    resourceLimits: { maxOldGenerationSizeMb: heapMib, maxYoungGenerationSizeMb: YOUNG_MIB },
  });
}

/** What is new is cleared away often, instead of being kept until there is much of it. */
const YOUNG_MIB = 2;
