// Promise: no caller with a token makes the gateway work longer than the length of its request says, on any route that takes JSON.
import { tooDear } from './cost-of-entries.js';
import { otherTokenEntries, type HostileTargets } from './entries.js';
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

onLinux(
  'no byte is dearer than five of a harmless request',
  async () => {
    const entries = otherTokenEntries(targets);
    expect(entries.length).toBeGreaterThan(45);
    expect(await tooDear(targets.system, entries, 1)).toEqual([]);
  },
  PATIENCE_MS,
);
