// Promise: events of sandboxes stand in the month in which they happened, however many there are: they keep no month from being made, and leave with theirs.
import { newReceiptEventId } from '#ledger';
import { firstIdAt, newId, newIdOf } from '#runtime';
import { at, closeAged, keeper, monthAt, openAged, partitions, run, suffix } from './testing/aged-partitions.js';

const SANDBOX = 'mer_test_1';

beforeEach(async () => {
  await openAged();
  await at.owner.query(
    `INSERT INTO merchants (id, code, name, tin, mode) VALUES ($1, 'sandbox', 'Sandbox', '300000001', 'sandbox')`,
    [SANDBOX],
  );
});
afterEach(closeAged);

/** As programs before this release wrote that a sandbox's receipts were accepted: in the middle of a month. @returns position and id of the first */
async function acceptedBefore(count: number, month: number): Promise<{ position: string; id: string }> {
  const moment = new Date(monthAt(month).getTime() + 10 * 86_400_000);
  const { rows } = await at.programs.query<{ position: string; id: string }>(
    `INSERT INTO events (id, merchant_id, type, subject_id, data, created_at)
     SELECT $1 || lpad(n::text, 16, '0'), $2, 'receipt.accepted', 'rcp_test_' || n, '{}', $3
       FROM generate_series(1, $4::int4) AS n RETURNING position::text, id`,
    [firstIdAt('evt_test', moment), SANDBOX, moment, count],
  );
  const [first] = rows;
  if (!first) throw new Error('nothing was written');
  return first;
}

/** How many events of the sandbox stand in each partition. */
async function standIn(): Promise<Record<string, number>> {
  const { rows } = await at.owner.query<{ name: string; n: number }>(
    `SELECT replace(tableoid::regclass::text, 'parts.events_', '') AS name, count(*)::int4 AS n
       FROM events WHERE merchant_id = $1 GROUP BY 1`,
    [SANDBOX],
  );
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}

test('a receipt of a sandbox is announced by an id of its time, as any other', () => {
  const [sandboxed, live] = [newIdOf('rcp', SANDBOX), newId('rcp')];
  expect(newReceiptEventId(sandboxed)).toBe(`evt_${sandboxed.slice('rcp_test_'.length)}`);
  expect(newReceiptEventId(live)).toBe(`evt_${live.slice('rcp_'.length)}`);
});

test('those that a release before wrote behind all months go into theirs, and the months to come are made', async () => {
  const first = await acceptedBefore(5_500, 0);
  await at.owner.query(
    `INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url)
     SELECT $1, merchant_id, 'whk_live', position, id, type, subject_id, 'https://a.example' FROM events WHERE position = $2`,
    [newId('dlv'), first.position],
  );
  expect(await standIn()).toEqual({ [suffix(1)]: 5_500 });
  await keeper().run();
  expect((await partitions('events')).at(-1)).toBe(suffix(4));
  expect(await standIn()).toEqual({ [suffix(0)]: 5_500 });
  // What waits to be sent finds its event.
  const { rows } = await at.owner.query(
    'SELECT e.id FROM webhook_deliveries d JOIN events e ON e.position = d.event_position AND e.id = d.event_id',
  );
  expect(rows).toEqual([{ id: first.id.replace('evt_test_', 'evt_') }]);
});

test('and leave with it', async () => {
  await acceptedBefore(20, -3);
  const { rows } = await at.programs.query<{ position: string }>(
    `INSERT INTO events (id, merchant_id, type, subject_id, data) VALUES ($1, $2, 'receipt.registered', 'rcp_test_1', '{}')
     RETURNING position::text`,
    [newId('evt'), SANDBOX],
  );
  await at.owner.query('INSERT INTO webhook_cursors (merchant_id, position) VALUES ($1, $2)', [
    SANDBOX,
    rows[0]?.position,
  ]);
  await keeper({ folder: at.folder }).run();
  const stay = Object.values(await standIn()).reduce((sum, n) => sum + n, 0);
  // The last one of what left, at which a reader may stand, and the one of today.
  expect(stay).toBe(2);
});

test('while a copy that was put back is numbered anew, they stay where they are', async () => {
  await acceptedBefore(3, 0);
  await at.owner.query(`INSERT INTO event_renumberings (below, last) VALUES ('5', 5)`);
  await keeper().run();
  expect((await run({ text: `SELECT 1 FROM events WHERE id >= 'evt_t'`, values: [] } as never)).length).toBe(3);
});
