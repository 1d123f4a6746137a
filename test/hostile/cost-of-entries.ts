import type { TestSystem } from '../system/system.js';
import type { Body } from './bodies.js';
import type { Entry } from './entries.js';
import { spentBy } from './processor-time.js';

/** What one way of being hostile costs at one place. */
export interface Cost {
  place: string;
  what: string;
  isAuthenticated: boolean;
  bytes: number;
  /** Processor time of the program per request. */
  hostileMs: number;
  /** Of a harmless request; beside a server of Node.js alone, of the hostile one there. */
  harmlessMs: number;
  /** Time per byte, hostile to harmless. */
  ratio: number;
  maxRatio: number;
  /** Compared with the same bytes at a server of Node.js alone. */
  isBesideBare: boolean;
}

/** A hostile byte may cost so many times what a harmless one costs. */
export const MAX_RATIO = 5;
/** What an unauthenticated request may cost at most, but for what Node.js alone takes for it. */
export const MAX_OPEN_MS = 20;
/** Below this per request a ratio says more about the clock than about the work. */
const MEASURABLE_MS = 2;

/**
 * Measures every way at an entry, first with few requests; what seems too dear is measured again with more, so that a garbage
 * collection that fell into one measurement is no accusation.
 */
export async function costsOf(system: TestSystem, entry: Entry, times = 3): Promise<Cost[]> {
  const pid = (entry.program === 'relay' ? system.relays : system.gateways)[0]?.pid ?? 0;
  const bodies = Object.entries(entry.hostile);
  await measured(pid, entry, entry.harmless, 2);
  const harmless = await measured(pid, entry, entry.harmless, 2 * times);
  const compared = (body: Body, requests: number): Promise<Measured> =>
    entry.bare
      ? measured(entry.bare.pid, { ...entry, send: entry.bare.send }, body, requests)
      : measured(pid, entry, entry.harmless, requests);
  const costs: Cost[] = [];
  for (const [what, body] of bodies) {
    const first = entry.bare ? await compared(body, times) : harmless;
    let cost = costFrom(entry, what, await measured(pid, entry, body, times), first);
    for (let again = 1; again <= 3 && isTooDear(cost); again += 1) {
      const anew = await compared(body, 3 * times * again);
      cost = costFrom(entry, what, await measured(pid, entry, body, 3 * times * again), anew);
    }
    costs.push(cost);
  }
  return costs;
}

/** What is too dear at these entries, in words. */
export async function tooDear(system: TestSystem, entries: readonly Entry[], times: number): Promise<string[]> {
  const dear: Cost[] = [];
  for (const entry of entries) dear.push(...(await costsOf(system, entry, times)).filter(isTooDear));
  return dear.map(
    ({ place, what, hostileMs, harmlessMs, ratio }) =>
      `${place}: ${what}: ${hostileMs.toFixed(1)} ms against ${harmlessMs.toFixed(1)} ms, ${ratio.toFixed(1)} × per byte`,
  );
}

function isTooDear({ ratio, maxRatio, hostileMs, isAuthenticated, isBesideBare }: Cost): boolean {
  if (!isAuthenticated && !isBesideBare && hostileMs > MAX_OPEN_MS) return true;
  return ratio > maxRatio && hostileMs > MEASURABLE_MS;
}

interface Measured {
  msPerRequest: number;
  bytes: number;
}

async function measured(pid: number, entry: Entry, body: Body, times: number): Promise<Measured> {
  const text = padded(body(entry.bytes), entry);
  const spentNs = await spentBy(pid, async () => {
    for (let sent = 0; sent < times; sent += 1) await entry.send(text);
  });
  return { msPerRequest: spentNs / times / 1e6, bytes: Buffer.byteLength(text) };
}

/** The largest body that is allowed: what is hostile in few bytes is followed by spaces. */
function padded(text: string, { bytes, isPadded }: Entry): string {
  return isPadded === true ? text + ' '.repeat(Math.max(0, bytes - Buffer.byteLength(text))) : text;
}

function costFrom(
  { place, isAuthenticated, maxRatio = MAX_RATIO, bare }: Entry,
  what: string,
  hostile: Measured,
  harmless: Measured,
): Cost {
  return {
    ...{ place, what, isAuthenticated, maxRatio, bytes: hostile.bytes, isBesideBare: bare !== undefined },
    ...{ hostileMs: hostile.msPerRequest, harmlessMs: harmless.msPerRequest },
    ratio: hostile.msPerRequest / hostile.bytes / (harmless.msPerRequest / harmless.bytes),
  };
}
