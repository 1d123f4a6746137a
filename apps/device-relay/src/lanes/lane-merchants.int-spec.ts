// Promise: the merchant of a lane is read once, for many lanes with one statement, and a database that is away ends one group alone.
import { LaneMerchants } from './lane-merchants.js';
import { LaneRows } from './testing/lane-rows.js';

let rows: LaneRows;
let groups: (readonly string[])[];
let merchants: LaneMerchants;

beforeAll(async () => {
  rows = await LaneRows.start();
  await rows.createMerchant('a', '200000001');
});
afterAll(() => rows?.stop());

beforeEach(async () => {
  await rows.clear();
  groups = [];
  const merchantsOf = (deviceIds: readonly string[]): Promise<Map<string, string>> => {
    groups.push(deviceIds);
    return rows.ours.merchantsOf(deviceIds);
  };
  merchants = new LaneMerchants({ merchantsOf });
});

test('hundreds of lanes asked for at once are read in groups, and never again', async () => {
  const ids = Array.from({ length: 300 }, (_, index) => `dev_a_${index}`);
  for (const id of ids) await rows.createDevice(id, 'a');
  const asked = [...ids, 'dev_1', ...ids.slice(0, 50)];
  const found = await Promise.all(asked.map((id) => merchants.of(id)));
  expect(found).toEqual(asked.map((id) => (id === 'dev_1' ? 'mer_1' : 'mer_a')));
  expect(groups).toHaveLength(1);
  expect(await merchants.of('dev_a_7')).toBe('mer_a');
  expect(groups).toHaveLength(1);
});

test('what is asked for while a group is read comes with the next one', async () => {
  await rows.createDevice('dev_2', 'a');
  const first = merchants.of('dev_1');
  await Promise.resolve();
  const others = [merchants.of('dev_2'), merchants.of('dev_1')];
  expect([await first, ...(await Promise.all(others))]).toEqual(['mer_1', 'mer_a', 'mer_1']);
  expect(groups.length).toBeLessThanOrEqual(2);
});

test('a lane that does not exist yet is asked for again', async () => {
  expect(await merchants.of('dev_9')).toBeNull();
  await rows.createDevice('dev_9', 'a');
  expect(await merchants.of('dev_9')).toBe('mer_a');
});

test('a read that fails fails for those that asked, and the next one is read', async () => {
  const broken = new LaneMerchants({
    merchantsOf: (deviceIds) => {
      groups.push(deviceIds);
      // A text that PostgreSQL does not take.
      return rows.ours.merchantsOf(groups.length === 1 ? ['\0'] : deviceIds);
    },
  });
  await expect(broken.of('dev_1')).rejects.toThrow();
  expect(await broken.of('dev_1')).toBe('mer_1');
});
