// Promise: a client that follows the cursor of the event log sees each of the merchant's events once, whatever commits meanwhile.
import pg from 'pg';
import { newId } from '#runtime';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';

const WRITERS = 16;
const TRANSACTIONS = 60;
let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await OperatorFixture.start();
});
afterAll(() => fixture.stop());

interface EventsAnswer {
  data: { id: string; type: string; timestamp: string; merchant_id: string; data: Record<string, unknown> }[];
  next_cursor: string | null;
  has_more: boolean;
  code: string;
  errors: { pointer: string }[];
}

async function ask(query: string, token: string): Promise<{ status: number; body: EventsAnswer }> {
  const response = await fetch(`${fixture.base}/v1/events?${query}`, { headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, body: (await response.json()) as EventsAnswer };
}

async function merchant(): Promise<{ id: string; token: string }> {
  const id = await fixture.createMerchant();
  return { id, token: await fixture.createToken(id, ['receipts:read']) };
}

async function write(
  client: pg.Client | null,
  merchantId: string,
  type = 'receipt.accepted',
  data = {},
): Promise<string> {
  const id = newId('evt');
  const values = [id, merchantId, type, JSON.stringify(data)];
  const statement = 'INSERT INTO events (id, merchant_id, type, subject_id, data) VALUES ($1, $2, $3, $1, $4)';
  if (client) await client.query(statement, values);
  else await fixture.prisma.$executeRawUnsafe(statement.replace('$4', '$4::jsonb'), ...values);
  return id;
}

async function session(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: fixture.database.url });
  await client.connect();
  return client;
}

/** Asks until so many have come; other tests' transactions on the same server may put the newest off for a moment. */
async function follow(
  token: string,
  query: string,
  count: number,
  from = '',
): Promise<{ ids: string[]; cursor: string }> {
  const ids: string[] = [];
  let cursor = from;
  while (ids.length < count) {
    const { body } = await ask(`${query}${cursor && `&cursor=${cursor}`}`, token);
    ids.push(...body.data.map(({ id }) => id));
    cursor = body.next_cursor ?? cursor;
    if (!body.has_more) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return { ids, cursor };
}

test('16 concurrent writers of long and short transactions: a reader that follows the cursor misses nothing', async () => {
  const { id: merchantId, token } = await merchant();
  const committed: string[] = [];
  const writers = Array.from({ length: WRITERS }, async () => {
    const client = await session();
    for (let turn = 0; turn < TRANSACTIONS; turn += 1) {
      await client.query('BEGIN');
      const ids = [await write(client, merchantId)];
      // Others draw later positions and commit before us.
      if (Math.random() < 0.5) await client.query('SELECT pg_sleep($1)', [Math.random() / 100]);
      if (Math.random() < 0.5) ids.push(await write(client, merchantId));
      const isKept = Math.random() < 0.9;
      await client.query(isKept ? 'COMMIT' : 'ROLLBACK');
      if (isKept) committed.push(...ids);
    }
    await client.end();
  });
  const seen: string[] = [];
  let isWriting = true;
  const reader = (async (): Promise<void> => {
    for (let cursor = ''; ;) {
      const wasWriting = isWriting;
      const { body } = await ask(`limit=7${cursor}`, token);
      seen.push(...body.data.map(({ id }) => id));
      if (body.next_cursor !== null) cursor = `&cursor=${body.next_cursor}`;
      if (!wasWriting && !body.has_more && seen.length >= committed.length) return;
    }
  })();
  await Promise.all(writers);
  isWriting = false;
  await reader;
  expect(new Set(seen).size).toBe(seen.length);
  expect([...seen].sort()).toEqual([...committed].sort());
});

test('a later position that commits first waits for the earlier transaction', async () => {
  const { id: merchantId, token } = await merchant();
  const [slow, quick] = [await session(), await session()];
  await slow.query('BEGIN');
  const first = await write(slow, merchantId);
  const second = await write(quick, merchantId);
  expect((await ask('', token)).body).toMatchObject({ data: [], next_cursor: null, has_more: false });
  await slow.query('COMMIT');
  expect((await follow(token, 'limit=10', 2)).ids).toEqual([first, second]);
  await slow.end();
  await quick.end();
});

test('shape, filter by type, and a cursor that is good at the end too', async () => {
  const { id: merchantId, token } = await merchant();
  const one = await write(null, merchantId, 'receipt.registered', {
    receipt_id: 'rcp_1',
    zReport: { TotalSaleVAT: 1 },
  });
  await write(null, merchantId, 'device.online');
  const three = await write(null, merchantId, 'refund.accepted');
  expect((await follow(token, 'limit=2', 3)).ids).toHaveLength(3);
  const { body } = await ask('limit=1', token);
  expect(body.data[0]).toEqual({
    ...{ id: one, type: 'receipt.registered', timestamp: expect.any(String), merchant_id: merchantId },
    data: { receipt_id: 'rcp_1', z_report: { total_sale_vat: 1 } },
  });
  const filtered = await follow(token, 'type=receipt.*,refund.accepted', 2);
  expect(filtered.ids).toEqual([one, three]);
  expect((await ask(`cursor=${filtered.cursor}`, token)).body).toMatchObject({
    data: [],
    next_cursor: filtered.cursor,
  });
  const four = await write(null, merchantId);
  expect((await follow(token, 'limit=5', 1, filtered.cursor)).ids).toEqual([four]);
});

test('numbers of transactions that a restored dump has put in order anew do not move a cursor', async () => {
  const { id: merchantId, token } = await merchant();
  const ids = [await write(null, merchantId), await write(null, merchantId), await write(null, merchantId)];
  const { cursor } = await follow(token, 'limit=1', 1);
  await fixture.prisma.$executeRaw`
    UPDATE events SET transaction_id = pg_current_xact_id() WHERE merchant_id = ${merchantId}`;
  expect((await follow(token, 'limit=5', 2, cursor)).ids).toEqual(ids.slice(1));
});

test.each([
  ['limit=0', '/limit'],
  ['cursor=abc', '/cursor'],
  ['type=receipt', '/type'],
  ['type=receipt.registered,', '/type'],
  ['after=1', '/after'],
])('%s is refused, naming the field', async (query, pointer) => {
  const { token } = await merchant();
  const { status, body } = await ask(query, token);
  expect([status, body.errors.map((error) => error.pointer)]).toEqual([422, [pointer]]);
});

test('another merchant’s events and cursors do not exist', async () => {
  const mine = await merchant();
  await write(null, mine.id);
  const { cursor } = await follow(mine.token, 'limit=1', 1);
  const stranger = await merchant();
  expect((await ask('', stranger.token)).body.data).toEqual([]);
  expect((await ask(`cursor=${cursor}`, stranger.token)).status).toBe(422);
});
