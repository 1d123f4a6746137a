// Promise: events of sandboxes stand in the month in which they happened, however many there are: they keep no month from being made, and leave with theirs.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { dateSandboxEvents, newReceiptEventId } from '#ledger';
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

/** Deliveries whose event is found, and those whose event is not. */
async function deliveriesFound(): Promise<{ found: number; lost: number }> {
  const { rows } = await at.owner.query<{ found: number; lost: number }>(
    `SELECT count(e.id)::int4 AS found, (count(*) - count(e.id))::int4 AS lost
       FROM webhook_deliveries d LEFT JOIN events e ON e.position = d.event_position AND e.id = d.event_id`,
  );
  return rows[0] ?? { found: -1, lost: -1 };
}

const DELIVER = `
  INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url)
  VALUES ($1, $2, 'whk_live', $3, $4, 'receipt.accepted', 'rcp_test_1', 'https://a.example')`;

/** What a gateway does before it reads the events that it delivers. */
const CHOOSERS: [by: string, before: string][] = [
  [
    'a planner that begins with its merchant',
    `INSERT INTO webhook_cursors (merchant_id, position) VALUES ('${SANDBOX}', 0)`,
  ],
  [
    'a planner',
    `COMMIT; INSERT INTO webhook_cursors (merchant_id, position) VALUES ('${SANDBOX}', 0);
     BEGIN; SELECT FROM webhook_cursors WHERE merchant_id = '${SANDBOX}' FOR UPDATE`,
  ],
  ['a replay', 'SELECT may_choose_events()'],
];

test.each(CHOOSERS)('%s that has read an event finds it again when its delivery is to be sent', async (_, before) => {
  const { position, id } = await acceptedBefore(1, 0);
  const gateway = new pg.Client({ connectionString: at.database.url });
  await gateway.connect();
  try {
    await gateway.query('BEGIN');
    await gateway.query(before);
    const { rows } = await gateway.query('SELECT id FROM events WHERE position = $1', [position]);
    expect(rows).toEqual([{ id }]);
    // Gives way, or waits for the gateway's end.
    const dated = dateSandboxEvents(run).catch((error: unknown) => error);
    await Promise.race([dated, delay(1_000)]);
    await gateway.query(DELIVER, [newId('dlv'), SANDBOX, position, id]);
    await gateway.query('COMMIT');
    await dated;
  } finally {
    await gateway.end();
  }
  expect(await deliveriesFound()).toEqual({ found: 1, lost: 0 });
  await keeper().run();
  expect(await standIn()).toEqual({ [suffix(0)]: 1 });
  expect(await deliveriesFound()).toEqual({ found: 1, lost: 0 });
});

test('a merchant whose planner is at work keeps the events of no other one behind all months', async () => {
  await acceptedBefore(1, 0);
  await at.owner.query(`UPDATE events SET merchant_id = 'mer_test_2' WHERE merchant_id = $1`, [SANDBOX]);
  await at.owner.query(`INSERT INTO webhook_cursors (merchant_id, position) VALUES ('mer_test_2', 0)`);
  const { id } = await acceptedBefore(1, -1);
  await at.programs.query(`BEGIN; SELECT FROM webhook_cursors WHERE merchant_id = 'mer_test_2' FOR UPDATE`);
  await keeper({ tries: 2 }).run();
  await at.programs.query('COMMIT');
  const { rows } = await at.owner.query('SELECT id FROM events WHERE merchant_id = $1', [SANDBOX]);
  expect(rows).toEqual([{ id: id.replace('evt_test_', 'evt_') }]);
});
