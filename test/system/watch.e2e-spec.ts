// Promise: what a register could not deliver reaches the OFD by itself, and its shift ends by itself, with a Z-report that adds up.
import { sql } from './database.js';
import { documentsAtOfd } from './ground-truth.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

let system: TestSystem;

beforeAll(async () => {
  system = await startSystem({
    registers: 2,
    relays: 2,
    profile: { failoverAfterMs: 0 },
    env: { HEALTH_POLL_MS: '300', OFD_RESEND_MS: '500' },
    registerEnv: { OFD_SALE_BUDGET_MS: '300' },
  });
});

afterAll(() => system?.stop());

async function setOfd(mode: string): Promise<void> {
  const response = await fetch(`${system.ofdUrl}/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ mode }),
  });
  expect(await response.json()).toMatchObject({ mode });
}

async function eventTypes(like: string): Promise<string[]> {
  const rows = await sql<{ type: string }>(system.database, 'SELECT type FROM events WHERE type LIKE $1', [like]);
  return rows.map(({ type }) => type);
}

async function ofdStatuses(ids: readonly string[]): Promise<unknown[]> {
  return Promise.all(ids.map(async (id) => (await system.client.get(`/v1/receipts/${id}`)).body.ofd?.status));
}

test('OFD down, unsent, resent by the register, sent; then the schedule closes the shift', async () => {
  const { client, database } = system;
  const { deviceId } = system.merchant.tills[0]!;
  await setOfd('down');
  const ids: string[] = [];
  for (const key of ['one', 'two']) {
    const { status, body } = await client.post('/v1/receipts', client.saleOf(0), { 'idempotency-key': key });
    expect({ status, ofd: body.ofd?.status }).toEqual({ status: 201, ofd: 'pending' });
    ids.push(body.id ?? '');
  }
  await until(
    'a poll has seen that two documents are unsent',
    () =>
      sql<{ unsent: number }>(
        database,
        `SELECT (reading ->> 'unsentReceipts')::int AS unsent FROM devices WHERE id = $1`,
        [deviceId],
      ),
    ([device]) => device?.unsent === 2,
  );
  const attempts = await sql(database, 'SELECT id FROM attempts ORDER BY id');
  await setOfd('ok');
  await until(
    'both have been sent',
    () => ofdStatuses(ids),
    (statuses) => statuses.every((one) => one === 'sent'),
  );
  expect(await eventTypes('receipt.ofd_%')).toEqual(['receipt.ofd_sent', 'receipt.ofd_sent']);
  expect((await documentsAtOfd(system)).map(({ seq }) => seq)).toEqual([1, 2]);
  // Not one more call of /receipts.
  expect(await sql(database, 'SELECT id FROM attempts ORDER BY id')).toEqual(attempts);

  await until(
    'the Z-report is stored and compared',
    async () => {
      // As if the shift had been busy since yesterday: its closing time has passed. Said again, as a poll of the register may come before
      // the closing and write what the register says.
      await sql(
        database,
        `UPDATE devices SET reading = jsonb_set(reading, '{shift,busySince}', to_jsonb((now() - interval '1 day')::text))
          WHERE reading -> 'shift' ->> 'busySince' IS NOT NULL`,
      );
      return sql<{ own: unknown }>(database, 'SELECT own FROM z_reports');
    },
    (rows) => rows.length === 1 && rows[0]?.own !== null,
  );
  await until(
    'the OFD has it',
    () => sql<{ sent: boolean }>(database, `SELECT ofd_status = 'sent' AS sent FROM z_reports`),
    ([row]) => row?.sent === true,
  );
  const [z] = await sql(database, `SELECT z.*, s.number FROM z_reports z JOIN shifts s ON s.id = z.shift_id`);
  const sold = { saleCash: 224_000, saleCard: 0, saleVat: 24_000, saleCount: 2 };
  expect(z).toMatchObject({ number: 1, ofd_status: 'sent', own: sold, difference: null });
  expect(z?.['totals']).toMatchObject({ TotalSaleCash: 224_000, TotalSaleVAT: 24_000, TotalSaleCount: 2 });
  expect(await eventTypes('shift.%')).toEqual(['shift.opened', 'shift.closed']);
  const atOfd = (await (await fetch(`${system.ofdUrl}/z-reports`)).json()) as { data: unknown[] };
  expect(atOfd.data).toHaveLength(1);
});

test('each relay shows the fleet', async () => {
  const { deviceId } = system.merchant.tills[0]!;
  const wanted = ['device_up 1', 'device_lane_length 0'].map((line) => {
    const [name, value] = line.split(' ');
    return new RegExp(`^${name}\\{device="${deviceId}".*\\} ${value}$`, 'm');
  });
  const text = await until(
    'the device is shown as it is',
    async () => (await fetch(`${system.relayUrls[0]}/metrics`)).text(),
    (shown) => wanted.every((line) => line.test(shown)),
  );
  expect(text).toMatch(/^device_memory_left\{.*\} 100000$/m);
  expect(text).toMatch(/^lanes_unknown_receipts\{.*\} 0$/m);
});

test('what waits for a register that cannot be reached is registered by its neighbour, once', async () => {
  const { client, database, merchant } = system;
  const [near, away] = [merchant.tills[0]!.deviceId, merchant.tills[1]!.deviceId];
  await sql(database, `UPDATE devices SET base_url = 'http://127.0.0.1:9' WHERE id = $1`, [away]);
  const { status, body } = await client.post('/v1/receipts', client.saleOf(1, { device_id: away }), {
    prefer: 'wait=30',
  });
  expect({ status, device: body.device_id }).toEqual({ status: 201, device: near });
  const moved = await sql(database, `SELECT data ->> 'device_id' AS device FROM events WHERE type = 'receipt.moved'`);
  expect(moved).toEqual([{ device: near }]);
  // Within the sale when the machine is quick, else when what is unsent is handed over again.
  const documents = await until(
    'the OFD has it',
    () => documentsAtOfd(system),
    ({ length }) => length >= 3,
  );
  expect(documents).toHaveLength(3);
});
