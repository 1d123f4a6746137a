// Promise: no caller makes a program work longer than the length of its request says, and without a token hardly at all.
import { authEntries } from './auth-entries.js';
import { tooDear } from './cost-of-entries.js';
import { openEntries, tokenEntries, type HostileTargets } from './entries.js';
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
  'without a token: 20 ms of processor time at most, and no byte dearer than five of a harmless request',
  async () => {
    expect(await tooDear(targets.system, openEntries(targets), 5)).toEqual([]);
  },
  PATIENCE_MS,
);

onLinux(
  'where people log in: the same, from pages of the console and from others',
  async () => {
    expect(await tooDear(targets.system, authEntries(targets), 2)).toEqual([]);
  },
  PATIENCE_MS,
);

onLinux(
  'with a token, where shops send all day or most: no byte dearer than five of a harmless request',
  async () => {
    const entries = tokenEntries(targets);
    expect(entries).toHaveLength(13);
    expect(await tooDear(targets.system, entries, 1)).toEqual([]);
  },
  PATIENCE_MS,
);
