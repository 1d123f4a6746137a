import { setTimeout as delay } from 'node:timers/promises';

/**
 * What a test file leaves in its process for the next one. A process without any is used again: to read the modules of a gateway anew
 * takes seconds of processor time, more than most files need for their tests.
 *
 * @typedef {{ environment: string, folder: string }} Surroundings as they were before the file was read
 * @typedef {{ globals: Map<string | symbol, unknown>, listeners: string }} Shared as they were after it was read, before its tests
 */

/** Connections and servers that were closed at the end of a file are gone only some turns of the event loop later. */
const SETTLE_MS = 500;
/** Above it a process is ended: six of them run at a time. */
const MOST_MEMORY_BYTES = 1_200 * 1024 * 1024;
/** The channel to the parent, and what is printed. */
const OWN_RESOURCES = ['PipeWrap', 'PipeWrap', 'PipeWrap'];

/** A global of Node.js that is made when it is first used. */
const LAZY = Symbol('made when it is used');

/** @returns {Surroundings} */
export function surroundings() {
  return { environment: JSON.stringify(process.env), folder: process.cwd() };
}

/** @returns {Shared} */
export function shared() {
  const keys = Reflect.ownKeys(globalThis);
  return {
    globals: new Map(keys.map((key) => [key, valueOf(key)])),
    listeners: JSON.stringify(process.eventNames().map((name) => [String(name), process.listenerCount(name)])),
  };
}

/**
 * @param {Surroundings} before
 * @param {Shared} read
 * @returns {Promise<string[]>} in words; none: the process may be used again
 */
export async function leftovers(before, read) {
  const resources = await openResources();
  const now = { ...surroundings(), ...shared() };
  const changed = [...now.globals].filter(([key, value]) => {
    const known = read.globals.get(key);
    return known !== LAZY && !Object.is(known, value);
  });
  return [
    ...resources,
    ...(now.environment === before.environment ? [] : ['the environment']),
    ...(now.folder === before.folder ? [] : ['the working folder']),
    ...(now.listeners === read.listeners ? [] : ['listeners of the process']),
    ...changed.map(([key]) => `the global ${String(key)}`),
    ...(process.memoryUsage.rss() < MOST_MEMORY_BYTES ? [] : ['much memory']),
  ];
}

/** @param {string | symbol} key */
function valueOf(key) {
  const descriptor = Object.getOwnPropertyDescriptor(globalThis, key);
  return descriptor?.get === undefined ? descriptor?.value : LAZY;
}

/** What keeps the event loop going, once what was closed has had its time to go. */
async function openResources() {
  const endMs = performance.now() + SETTLE_MS;
  for (;;) {
    const open = process.getActiveResourcesInfo();
    for (const own of OWN_RESOURCES) {
      const at = open.indexOf(own);
      if (at >= 0) open.splice(at, 1);
    }
    if (open.length === 0 || performance.now() > endMs) return open;
    await delay(10);
  }
}
