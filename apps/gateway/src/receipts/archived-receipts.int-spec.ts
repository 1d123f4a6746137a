// Promise: a receipt that has left for an archive is answered 410 with the archive's name wherever it is asked for, and nothing of it is sold, or given back, twice;
// no list or sum of a time from which receipts have left passes for whole.
import 'reflect-metadata';
import pg from 'pg';
import { newId } from '#runtime';
import { ReceiptUrls } from './receipt-url.js';
import { ExportReceipts } from './search/export-receipts.js';
import type { ReceiptFilter } from './search/receipt-filter.js';
import { SearchReceipts } from './search/search-receipts.js';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';
import { SalesFixture, type SalesAnswer } from './testing/sales-fixture.js';

const ARCHIVE = `receipts-${'1'.repeat(26)}`;
const ARCHIVE_OF_REFUND = `receipts-${'2'.repeat(26)}`;
const YEARS_AGO = '2020-05-04T03:02:01.000Z';
const EXTERNAL_ID = 'order 17';

let fixture: SalesFixture;
let owner: pg.Client;
let sale: Record<string, unknown>;
let key: string;
let saleId: string;
let refundId: string;
/** Of rows as they were, by their ids. */
const lines = new Map<string, string>();

const outcome = ({ status, body }: SalesAnswer): string => `${status} ${body.code ?? body.status}`;
const post = (body: object, headers: Record<string, string> = {}): Promise<SalesAnswer> =>
  fixture.ask('POST', '/v1/receipts', body, { headers });
const count = async (): Promise<number> => (await owner.query('SELECT FROM receipts')).rowCount ?? 0;

/** As years later the keeper has them leave. */
async function archive(ids: readonly string[], name: string): Promise<void> {
  await owner.query(`
    ALTER TABLE receipts DISABLE TRIGGER USER;
    UPDATE receipts SET created_at = '${YEARS_AGO}', updated_at = '${YEARS_AGO}', registered_at = '${YEARS_AGO}', ofd_status = 'sent'
     WHERE id IN ('${ids.join("', '")}');
    ALTER TABLE receipts ENABLE TRIGGER USER`);
  await owner.query(`INSERT INTO archives (name, state, rows) VALUES ($1, 'written', 1)`, [name]);
  const { rows } = await owner.query<{ id: string; line: string; digest: string }>(
    `SELECT id, receipt_line(r) AS line, encode(sha256(convert_to(receipt_line(r), 'UTF8')), 'hex') AS digest
       FROM receipts r WHERE id = ANY ($1)`,
    [ids],
  );
  for (const { id, line } of rows) lines.set(id, line);
  const { rows: removed } = await owner.query('SELECT remove_archived_receipts($1, $2, $3) AS removed', [
    ...[name, rows.map(({ id }) => id), rows.map(({ digest }) => digest)],
  ]);
  expect(removed).toEqual([{ removed: ids.length }]);
  await owner.query(`UPDATE archives SET state = 'removed' WHERE name = $1`, [name]);
}

const restore = (id: string): Promise<unknown> =>
  owner.query('INSERT INTO receipts SELECT (jsonb_populate_record(NULL::receipts, $1::jsonb)).*', [lines.get(id)]);

beforeAll(async () => {
  fixture = await SalesFixture.start({ ADDRESS_LIMIT: null });
  owner = new pg.Client({ connectionString: fixture.gateway.database.ownerUrl });
  await owner.connect();
  key = newId('evt');
  sale = fixture.saleOf([fixture.item('bread', 1_000, 1)], { external_id: EXTERNAL_ID });
  const sold = await post(sale, { 'idempotency-key': key });
  saleId = sold.body.id;
  await fixture.register(saleId);
  refundId = (await fixture.refund(saleId)).body.id;
  await fixture.register(refundId);
  // The newest registration of the terminal stays.
  await fixture.sell([fixture.item('bread', 500, 1)]);
  await archive([saleId, refundId], ARCHIVE);
});
afterAll(async () => {
  await owner?.end();
  await fixture?.stop();
});

test.each<[string, string, object | null]>([
  ['GET', '', null],
  ['GET', '/refunds', null],
  ['GET', '/document', null],
  ['GET', '/timeline', null],
  ['GET', '/messages', null],
  ['POST', '/refunds', {}],
  ['POST', '/cancel', null],
  ['POST', '/messages', { channel: 'email', to: 'a@example.uz' }],
])(
  '%s of an archived receipt%s is 410 and names the archive; of another merchant it is 404',
  async (method, path, body) => {
    const scopes = ['receipts:read', 'receipts:write', 'refunds:write', 'messages:write'];
    const token = await fixture.gateway.createToken(fixture.gateway.merchantId, scopes);
    const answer = await fixture.ask(method, `/v1/receipts/${saleId}${path}`, body ?? undefined, { token });
    expect(outcome(answer)).toBe('410 receipt_archived');
    expect(answer.body.detail).toContain(ARCHIVE);
    const other = await fixture.gateway.createToken(await fixture.gateway.createMerchant(), scopes);
    const denied = await fixture.ask(method, `/v1/receipts/${saleId}${path}`, body ?? undefined, { token: other });
    expect(outcome(denied)).toBe('404 not_found');
  },
);

test('the payment of an archived receipt is 410, too', async () => {
  const { merchantId } = fixture.gateway;
  await owner.query(
    `INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed) VALUES ('pac_1', $1, 'payme', 'Payme', '{}', '\\x00')`,
    [merchantId],
  );
  const id = newId('pay');
  await owner.query(
    `INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at, updated_at)
     VALUES ($1, $2, 'pac_1', $3, 'payme', 'inbound', 'captured', 1, now(), now())`,
    [id, merchantId, saleId],
  );
  const token = await fixture.gateway.createToken(merchantId, ['payments:read']);
  expect(outcome(await fixture.ask('GET', `/v1/payments/${id}`, undefined, { token }))).toBe('410 receipt_archived');
});

test('its address says so to its buyer, in each language and to programs, without the name', async () => {
  const path = new URL(fixture.gateway.app.get(ReceiptUrls, { strict: false }).urlOf(saleId)).pathname;
  const browser = { accept: 'text/html', 'accept-language': 'ru' };
  const page = await fetch(fixture.gateway.base + path, { headers: browser });
  const text = await page.text();
  expect([page.status, text.includes('Чек в архиве'), text.includes(ARCHIVE)]).toEqual([410, true, false]);
  const answer = await fetch(fixture.gateway.base + path, { headers: { accept: '*/*' } });
  const problem = (await answer.json()) as { code: string; detail: string };
  expect([answer.status, problem.code, problem.detail.includes(ARCHIVE)]).toEqual([410, 'receipt_archived', false]);
});

test('what was sold is not sold again: under its key, its external id, in a batch or after a restart', async () => {
  const before = await count();
  expect(outcome(await post(sale, { 'idempotency-key': key }))).toBe('410 receipt_archived');
  expect(outcome(await post(sale, { 'idempotency-key': newId('evt') }))).toBe('410 receipt_archived');
  expect(outcome(await post(sale))).toBe('410 receipt_archived');
  const other = fixture.saleOf([fixture.item('bread', 2_000, 1)], { external_id: EXTERNAL_ID });
  expect(outcome(await post(other))).toBe('422 idempotency_mismatch');
  expect(outcome(await post({ ...other, external_id: 'another' }, { 'idempotency-key': key }))).toBe(
    '422 idempotency_mismatch',
  );
  // A rule that the sale does not meet any more is not what is answered.
  const refused = { ...sale, cashier_id: 'gone' };
  expect(outcome(await post(refused, { 'idempotency-key': key }))).toBe('422 idempotency_mismatch');
  const { body } = await fixture.ask('POST', '/v1/receipts/batch', { receipts: [sale] });
  expect(body.data[0]?.problem?.code).toBe('receipt_archived');
  expect(await count()).toBe(before);
});

test('a message that is being accepted keeps its receipt here, or is refused', async () => {
  const id = await fixture.sell([fixture.item('bread', 700, 1)], { customer: { email: 'a@example.uz' } });
  await fixture.sell([fixture.item('bread', 500, 1)]);
  const { merchantId } = fixture.gateway;
  await owner.query(
    `INSERT INTO message_accounts (id, merchant_id, channel, provider, name, settings, credentials_sealed)
     VALUES ('mac_1', $1, 'email', 'smtp', 'Mail', '{}', '\\x00')`,
    [merchantId],
  );
  // As one who sees what other roles wait for.
  const other = new pg.Client({ connectionString: fixture.gateway.database.adminUrl });
  await other.connect();
  await other.query(`BEGIN; SELECT FROM message_accounts WHERE id = 'mac_1' FOR UPDATE`);
  const token = await fixture.gateway.createToken(merchantId, ['messages:write']);
  try {
    const sending = fixture.ask('POST', `/v1/receipts/${id}/messages`, { channel: 'email' }, { token });
    await untilTrue(async () => {
      const { rowCount } = await other.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rowCount === 1;
    }, 'it waits for the account');
    const { rows: free } = await owner.query('SELECT FROM receipts WHERE id = $1 FOR UPDATE SKIP LOCKED', [id]);
    expect(free).toEqual([]);
    await other.query('ROLLBACK');
    expect((await sending).status).toBe(202);
  } finally {
    await other.end();
  }
});

test('no list, export or sum of a time from which receipts have left passes for whole; of a later one it is', async () => {
  const { token } = fixture;
  const get = (path: string): Promise<SalesAnswer> => fixture.ask('GET', path, undefined, { token });
  for (const path of [
    `/v1/receipts?external_id=${encodeURIComponent(EXTERNAL_ID)}`,
    '/v1/receipts?created_from=2020-01-01T00:00:00Z',
    `/v1/receipts?registered_from=${YEARS_AGO}`,
    '/v1/receipts?created_to=2020-12-31T00:00:00Z',
    '/v1/receipts?registered_to=2020-12-31T00:00:00Z',
    `/v1/receipts/export?external_id=${encodeURIComponent(EXTERNAL_ID)}`,
    '/v1/receipts/export?created_from=2020-01-01T00:00:00Z',
    '/v1/receipts/export?registered_to=2020-12-31T00:00:00Z',
    '/v1/reports/turnover?by=day&from=2020-05-01&to=2020-05-31',
    '/v1/reports/reconciliation?from=2020-05-01&to=2020-05-31',
  ]) {
    const answer = await get(path);
    expect([path, outcome(answer)]).toEqual([path, '410 receipt_archived']);
    expect(answer.body.detail).toMatch(path.includes('external_id') ? ARCHIVE : /2020-05-04T03:02:01/);
  }
  for (const path of [
    '/v1/receipts',
    '/v1/receipts?external_id=another',
    '/v1/receipts?created_from=2020-05-05T00:00:00Z',
    '/v1/receipts?created_to=2020-05-04T00:00:00Z',
    '/v1/reports/reconciliation?from=2020-05-05&to=2020-05-31',
    '/v1/reports/turnover?by=day&from=2020-05-05&to=2020-05-31',
  ])
    expect([path, (await get(path)).status]).toEqual([path, 200]);
});

test('an export of whose time receipts leave while it runs is cut off at its end', async () => {
  const [search, exports] = [SearchReceipts, ExportReceipts].map((of) =>
    fixture.gateway.app.get<object>(of, { strict: false }),
  ) as [SearchReceipts, ExportReceipts];
  const filter = await search.filterOf(fixture.gateway.merchantId, { created_from: '2020-06-01T00:00:00Z' });
  const caller = { merchantId: fixture.gateway.merchantId, actor: 'cli_1', address: null, requestId: 'req_1' };
  const asked = { caller, query: {} };
  const read = async (of: ReceiptFilter): Promise<number> =>
    (await (await exports.open(of, 'ndjson', asked)).toArray()).length;
  expect(await read(filter)).toBe(1);
  await expect(read({ ...filter, createdFrom: new Date(YEARS_AGO) })).rejects.toThrow(/have left for the archive/);
  await expect(read({ ...filter, createdFrom: null, externalId: EXTERNAL_ID })).rejects.toThrow(ARCHIVE);
  expect(await read({ ...filter, createdFrom: null, externalId: 'another' })).toBe(0);
});

test('brought back it is as before; while a refund of it is not, nothing more is given back', async () => {
  // They leave together; that one of them is elsewhere takes a change of the owner's.
  await owner.query(`INSERT INTO archives (name, state) VALUES ($1, 'removed')`, [ARCHIVE_OF_REFUND]);
  await owner.query('UPDATE archived_receipts SET archive = $1 WHERE id = $2', [ARCHIVE_OF_REFUND, refundId]);
  await restore(saleId);
  expect(outcome(await fixture.ask('GET', `/v1/receipts/${saleId}`))).toBe('200 registered');
  const again = await post(sale, { 'idempotency-key': key });
  expect([outcome(again), again.body.id]).toEqual(['201 registered', saleId]);
  const refused = await fixture.refund(saleId);
  expect([outcome(refused), refused.body.detail?.includes(ARCHIVE_OF_REFUND)]).toEqual(['410 receipt_archived', true]);
  expect(outcome(await fixture.ask('GET', `/v1/receipts/${saleId}/refunds`))).toBe('410 receipt_archived');
  await restore(refundId);
  expect(outcome(await fixture.refund(saleId))).toBe('409 nothing_left');
  expect((await fixture.ask('GET', '/v1/receipts?created_from=2020-01-01T00:00:00Z')).status).toBe(200);
});
