// Promise: no caller makes a program work longer than the length of its request says, and without a token hardly at all.
import { costsOf, isTooDear, type Cost } from './cost-of-entries.js';
import { authEntries } from './auth-entries.js';
import { openEntries, tokenEntries, type Entry, type HostileTargets } from './entries.js';
import { startTargets } from './hostile-targets.js';
import { CAN_MEASURE } from './processor-time.js';

const onLinux = CAN_MEASURE ? test : test.skip;
/** Some thousand requests, of up to 4 MiB each. */
const PATIENCE_MS = 900_000;
let targets: HostileTargets;

beforeAll(async () => {
  targets = await startTargets();
});
afterAll(() => targets?.stop());

async function tooDear(entries: readonly Entry[], times: number): Promise<string[]> {
  const dear: Cost[] = [];
  for (const entry of entries) dear.push(...(await costsOf(targets.system, entry, times)).filter(isTooDear));
  return dear.map(
    ({ place, what, hostileMs, harmlessMs, ratio }) =>
      `${place}: ${what}: ${hostileMs.toFixed(1)} ms against ${harmlessMs.toFixed(1)} ms, ${ratio.toFixed(1)} × per byte`,
  );
}

onLinux(
  'without a token: 20 ms of processor time at most, and no byte dearer than five of a harmless request',
  async () => {
    expect(await tooDear(openEntries(targets), 5)).toEqual([]);
  },
  PATIENCE_MS,
);

onLinux(
  'where people log in: the same, from pages of the console and from others',
  async () => {
    expect(await tooDear(authEntries(targets), 2)).toEqual([]);
  },
  PATIENCE_MS,
);

onLinux(
  'with a token, on every route that takes JSON: no byte dearer than five of a harmless request',
  async () => {
    const entries = tokenEntries(targets);
    expect(entries.length).toBeGreaterThan(25);
    expect(await tooDear(entries, 1)).toEqual([]);
  },
  PATIENCE_MS,
);
