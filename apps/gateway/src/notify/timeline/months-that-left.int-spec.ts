// Promise: the timeline of a receipt says of which kinds months have left the database since it was accepted, and nothing where none has.
import pg from 'pg';
import { createTestDatabase, testClient, type TestDatabase } from '#database/testing';
import { ReadTimeline } from './read-timeline.js';

let database: TestDatabase;
let owner: pg.Client;
let prisma: ReturnType<typeof testClient>;

beforeAll(async () => {
  database = await createTestDatabase();
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  prisma = testClient(database.url);
  await owner.query(`
    INSERT INTO merchants (id, code, name, tin) VALUES ('mer_1', 'm', 'M', '300000000');
    INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed) VALUES ('pac_1', 'mer_1', 'payme', 'P', '{}', '\\x00');
    INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, device_id, document, total_tiyin, vat_total_tiyin)
    VALUES ('rcp_1', 'mer_1', 'cli_1', 'receipts', '', 'sale', 'rejected', 'dev_1', '{}', 1, 0)`);
});
afterAll(async () => {
  await prisma?.$disconnect();
  await owner?.end();
  await database?.drop();
});

async function left(): Promise<unknown[]> {
  const { data } = await new ReadTimeline(prisma).execute('mer_1', 'rcp_1', { limit: '500' });
  return data.flatMap((entry) => (entry.kind === 'left' ? [[entry.data['of'], entry.data['until']]] : []));
}

const accepted = (when: string): Promise<unknown> => owner.query('UPDATE receipts SET created_at = $1', [when]);

test('of which kinds, and until when', async () => {
  const [events, calls] = [
    ['event', '2025-03-01T00:00:00+00:00'],
    ['payment_call', '2025-02-01T00:00:00+00:00'],
  ];
  await accepted('2025-01-10T00:00:00Z');
  expect(await left()).toEqual([]);
  // As the keeper leaves them when it has taken off what was before March, and of calls before February.
  await owner.query(`
    ALTER TABLE events DETACH PARTITION parts.events_first;
    ALTER TABLE payment_calls DETACH PARTITION parts.payment_calls_first;
    SELECT create_partition('events', 'events_kept_202503', format('FROM (MINVALUE) TO (%L)', first_id_at('evt', '2025-03-01T00:00:00Z')));
    SELECT create_partition('payment_calls', 'payment_calls_kept_202502', 'FROM (MINVALUE) TO (''2025-02-01T00:00:00Z'')')`);
  expect(await left()).toEqual([events]);
  await owner.query(`
    INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at)
    VALUES ('pay_1', 'mer_1', 'pac_1', 'rcp_1', 'payme', 'hold', 'captured', 1, now())`);
  expect(await left()).toEqual([events, calls]);
  await accepted('2025-02-10T00:00:00Z');
  expect(await left()).toEqual([events]);
  await accepted(new Date().toISOString());
  expect(await left()).toEqual([]);
});
