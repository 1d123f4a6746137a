// Promise: how much of the fleet is away is said of the whole fleet, however few of its registers have metrics of their own.
import { createLogger, Metrics } from '#runtime';
import { LaneRows } from '../lanes/testing/lane-rows.js';
import { DeviceMetrics } from './device-metrics.js';

let rows: LaneRows;

beforeAll(async () => {
  rows = await LaneRows.start();
  await rows.sql.query(`UPDATE devices SET state = 'online', terminal_id = 'UZ000000000000'`);
});
afterAll(() => rows?.stop());

async function scraped(limit: number): Promise<string> {
  const metrics = new Metrics('test');
  new DeviceMetrics(rows.prisma, { limit }, createLogger('test', 'silent')).observe(metrics);
  return metrics.registry.metrics();
}

async function create(id: string, state: string, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
  await rows.createDevice(id);
  const { terminalId = `UZ-${id}`, transport = 'http', baseUrl = 'http://127.0.0.1:1' } = more;
  await rows.sql.query(
    `UPDATE devices SET state = $2::device_state, terminal_id = $3, transport = $4::device_transport, base_url = $5 WHERE id = $1`,
    [id, state, terminalId, transport, baseUrl],
  );
}

test('those that are well are left out first, and still counted', async () => {
  for (let number = 2; number <= 6; number += 1) await create(`dev_${number}`, 'online');
  for (let number = 7; number <= 9; number += 1) await create(`dev_${number}`, 'unreachable');
  await create('dev_disabled', 'disabled');
  const text = await scraped(4);
  expect(text.match(/^device_up\{/gm)).toHaveLength(4);
  expect(text.match(/^device_up\{.*\} 0$/gm)).toHaveLength(3);
  expect(text).toMatch(/^fleet_devices\{.*\} 9$/m);
  expect(text).toMatch(/^fleet_devices_up\{.*\} 6$/m);
});

test('one that has never dialled in is no register that is away, and takes the place of none', async () => {
  await create('dev_0', 'unreachable', { terminalId: null, transport: 'link', baseUrl: null });
  const text = await scraped(4);
  expect(text).not.toContain('device="dev_0"');
  expect(text).toMatch(/^fleet_devices\{.*\} 9$/m);
  const receipt = await rows.createReceipt({ deviceId: 'dev_0' });
  expect(await scraped(4)).toMatch(/^device_oldest_accepted_seconds\{.*device="dev_0"/m);
  await rows.sql.query('DELETE FROM receipts WHERE id = $1', [receipt]);
});

test('one that is not met again after its module was adopted stays one', async () => {
  await create('dev_a', 'unreachable', { terminalId: null, transport: 'link', baseUrl: null });
  await rows.sql.query(`UPDATE devices SET last_seen_at = now() WHERE id = 'dev_a'`);
  expect(await scraped(20)).toMatch(/^device_up\{.*device="dev_a".*\} 0$/m);
  await rows.sql.query(`UPDATE devices SET deleted_at = now() WHERE id = 'dev_a'`);
});

test('what a sandbox forces upon its registers alarms no person', async () => {
  await rows.sql.query(
    `INSERT INTO merchants (id, code, name, tin, mode) VALUES ('mer_test_1', 's', 'S', '1', 'sandbox')`,
  );
  await rows.sql.query(`INSERT INTO branches (id, merchant_id, code, name) VALUES ('brn_2', 'mer_test_1', 'b', 'B')`);
  await rows.sql.query(
    `INSERT INTO devices (id, merchant_id, branch_id, name, transport, api_key_sealed, profile, state, terminal_id)
     VALUES ('dev_test_1', 'mer_test_1', 'brn_2', 'Till', 'emulated', '', '{}', 'expired', 'ZZ1')`,
  );
  const text = await scraped(20);
  expect(text).not.toContain('device="dev_test_1"');
  expect(text).toMatch(/^fleet_devices\{.*\} 9$/m);
});

test('a shift is as old as its first document: an empty one is never closed', async () => {
  const ages = async (): Promise<[string, number][]> =>
    [...(await scraped(20)).matchAll(/^device_shift_age_seconds\{.*device="(\w+)".*\} (\S+)$/gm)].map(
      ([, device = '', seconds]) => [device, Math.round(Number(seconds) / 3_600)],
    );
  const read = (id: string, shift: Readonly<Record<string, unknown>>): Promise<unknown> =>
    rows.sql.query(`UPDATE devices SET reading = $2 WHERE id = $1`, [id, JSON.stringify({ shift })]);
  const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();
  const open = { openedAt: hoursAgo(99), closedAt: null };
  await read('dev_1', { ...open, documents: 0, busySince: null });
  await read('dev_2', { ...open, documents: 3, busySince: hoursAgo(2) });
  await read('dev_3', { ...open, documents: 0, busySince: hoursAgo(5) });
  // As a relay of long ago wrote it.
  await read('dev_4', { ...open, documents: 1 });
  await read('dev_5', { ...open, documents: 1, closedAt: hoursAgo(1), busySince: hoursAgo(5) });
  expect((await ages()).sort()).toEqual([
    ['dev_2', 2],
    ['dev_3', 5],
    ['dev_4', 99],
  ]);
});

/** Registered, and not delivered so many hours before its deadline. */
async function createUnsent(deviceId: string, hoursLeft: number, alerts = 0): Promise<void> {
  const id = await rows.createReceipt({ deviceId });
  await rows.sql.query(
    `UPDATE receipts SET status = 'registered', terminal_id = 'T-' || id, receipt_seq = 1, fiscal_sign = 's', verification_url = 'https://ofd.example/1',
                         registered_at = now(), evidence = 'answer', ofd_status = 'pending', ofd_alerts = $3,
                         ofd_deadline_at = now() + make_interval(hours => $2) WHERE id = $1`,
    [id, hoursLeft, alerts],
  );
}

test('what is late for the OFD is counted, but not in sandboxes, however much of it they force', async () => {
  const ofd = async (): Promise<string[]> =>
    [...(await scraped(20)).matchAll(/^receipts_ofd_(?:warned|alarmed)\{.*\} (\S+)$/gm)].map(([, value = '']) => value);
  await rows.createDevice('dev_z');
  await createUnsent('dev_test_1', -100, 2);
  await createUnsent('dev_test_1', 7, 1);
  await createUnsent('dev_1', 25);
  expect(await ofd()).toEqual(['0', '0']);
  await createUnsent('dev_1', 23);
  await createUnsent('dev_1', 7, 1);
  // Also one that is switched off, and stands behind those of sandboxes.
  await createUnsent('dev_z', -3, 2);
  await rows.sql.query(`UPDATE devices SET state = 'disabled' WHERE id = 'dev_z'`);
  expect(await ofd()).toEqual(['3', '2']);
  const { counted } = await rows.one<{ counted: number }>(
    `SELECT unsent_of_live(now() + interval '24 hours', 2) AS counted`,
  );
  expect(counted).toBe(2);
});

test('the registers of sandboxes are passed over in one step, however many of them have something late', async () => {
  const scans = async (): Promise<number> =>
    (
      await rows.one<{ scans: number }>(
        `SELECT sum(idx_scan)::int4 AS scans FROM pg_stat_xact_all_tables WHERE relname LIKE 'receipts%'`,
      )
    ).scans;
  const steps = async (): Promise<number> => {
    await rows.sql.query('BEGIN');
    const before = await scans();
    await rows.sql.query('SELECT unsent_of_live(now(), 100)');
    const after = await scans();
    await rows.sql.query('COMMIT');
    return after - before;
  };
  const ids = [1, 2, 3, 4, 5].map((n) => `dev_test_01ka${n}`);
  await rows.sql.query(
    `INSERT INTO devices (id, merchant_id, branch_id, name, transport, api_key_sealed, profile, state)
     SELECT id, 'mer_test_1', 'brn_2', id, 'emulated', '', '{}', 'online' FROM unnest($1::text[]) AS id`,
    [ids],
  );
  const [first = '', ...others] = ids;
  await createUnsent(first, -100);
  const ofOne = await steps();
  for (const id of others) await createUnsent(id, -100);
  expect(await steps()).toBe(ofOne);
});
