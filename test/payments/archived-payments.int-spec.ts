// Promise: a payment that has left for an archive with its receipts is answered 410 with the archive's name wherever it is asked for, to its provider it is one that
// there never was, no money of it moves, and no list, comparison or statement of its time passes for whole.
import pg from 'pg';
import { csvLine } from '../../apps/gateway/src/goods/sheets/csv.js';
import { FILE_MEDIA_TYPES } from '#http';
import { newId } from '#runtime';
import { until } from '../../libs/runtime/src/testing/until.js';
import { anId, askPayme, click } from './provider-callers.js';
import { paymentsFixture, PRICE, type PaymentsAnswer } from './payments-fixture.js';

const ARCHIVE = `payments-${'1'.repeat(26)}`;
/** Their day in Tashkent, and a moment of it. */
const DAY = '2020-05-04';
const THEN = '2020-05-04T07:02:01.000Z';
const LATER = '2020-06-01';

const fixture = paymentsFixture();
const key = newId('evt');
let sale: Record<string, unknown>;
let paymentId: string;
let receiptId: string;
let transactionId: string;
let clickId: string;

const outcome = ({ status, body }: PaymentsAnswer): string => `${String(status)} ${body.code ?? body.status}`;
const list = (query: string): Promise<PaymentsAnswer> => fixture.ask('GET', `/v1/payments?${query}`);

async function asOwner(statement: string, values?: unknown[]): Promise<pg.QueryResult> {
  const owner = new pg.Client({ connectionString: fixture.gateway.database.ownerUrl });
  await owner.connect();
  try {
    return await owner.query(statement, values);
  } finally {
    await owner.end();
  }
}

async function payByPayme(external = 'order 17'): Promise<string> {
  sale = fixture.sale({ provider: 'payme' }, { external_id: external });
  const { body } = await fixture.ask('POST', '/v1/payments', sale, {
    'idempotency-key': external === 'order 17' ? key : newId('evt'),
  });
  transactionId = anId();
  const params = { id: transactionId, time: Date.now(), amount: PRICE, account: { order_id: body.id } };
  expect((await askPayme(fixture, 'CreateTransaction', params)).result).toMatchObject({ state: 1 });
  expect((await askPayme(fixture, 'PerformTransaction', { id: transactionId })).result).toMatchObject({ state: 2 });
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  return body.id;
}

async function payByClick(): Promise<string> {
  const { body } = await fixture.pay({ provider: 'click' });
  await fixture.payOnPage(body);
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  return body.id;
}

/** As they are years later, and an archive that holds them. @returns what removes them for it, and its values */
async function age(ids: readonly string[], name: string): Promise<[string, unknown[]]> {
  const of = `IN ('${ids.join("', '")}')`;
  await asOwner(`
    ALTER TABLE receipts DISABLE TRIGGER USER;
    UPDATE receipts SET created_at = '${THEN}', updated_at = '${THEN}', registered_at = '${THEN}', ofd_status = 'sent' WHERE payment_id ${of};
    DELETE FROM attempts;
    ALTER TABLE receipts ENABLE TRIGGER USER;
    UPDATE provider_transactions SET provider_time_ms = ${String(Date.parse(THEN))} WHERE payment_id ${of};
    UPDATE payments SET created_at = '${THEN}', updated_at = '${THEN}', state_since = '${THEN}', captured_at = '${THEN}', due_at = NULL,
                        lease_id = NULL, lease_until = NULL WHERE id ${of};
    INSERT INTO archives (name, state, rows) VALUES ('${name}', 'written', 2)`);
  return [
    `SELECT remove_archived_payments($1, array_agg(id), array_agg(encode(sha256(convert_to(payment_line(p), 'UTF8')), 'hex'))) AS removed
       FROM payments p WHERE id = ANY ($2)`,
    [name, ids],
  ];
}

beforeAll(async () => {
  paymentId = await payByPayme();
  receiptId = String((await fixture.read(paymentId)).receipt.id);
  clickId = await payByClick();
  // The newest registration of the terminal stays.
  const { body } = await fixture.pay({ provider: 'multicard', token: 'token-0001' });
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  const { rows } = await asOwner(...(await age([paymentId, clickId], ARCHIVE)));
  expect(rows).toEqual([{ removed: 2 }]);
});

test.each<[string, string, object | undefined]>([
  ['GET', '', undefined],
  ['POST', '/cancel', undefined],
  ['POST', '/capture', undefined],
  ['POST', '/refunds', undefined],
  ['POST', '/confirm', { otp: '1234' }],
  ['POST', '/delivered', { delivered: true }],
])(
  '%s of an archived payment%s is 410 and names the archive; of another merchant it is 404',
  async (method, path, body) => {
    const answer = await fixture.ask(method, `/v1/payments/${paymentId}${path}`, body);
    expect([outcome(answer), String(answer.body['detail']).includes(ARCHIVE)]).toEqual(['410 receipt_archived', true]);
    const { gateway } = fixture;
    const other = await gateway.createToken(await gateway.createMerchant(), [
      'payments:write',
      'payments:read',
      'refunds:write',
    ]);
    const headers = { authorization: `Bearer ${other}` };
    expect(outcome(await fixture.ask(method, `/v1/payments/${paymentId}${path}`, body, headers))).toBe('404 not_found');
  },
);

test.each<[string, object]>([
  ['resolve', { outcome: 'refunded', reason: 'found out' }],
  ['retry', { reason: 'found out' }],
  ['extra-charges', { provider_ref: 'x', outcome: 'refunded', reason: 'found out' }],
  [
    'document',
    {
      document: 'refund',
      verification_url: 'https://ofd.soliq.uz/check?t=UZ1&r=1&c=20200504120000&s=1',
      reason: 'found out',
    },
  ],
])('%s by a person is 410, too', async (path, body) => {
  expect(outcome(await fixture.ask('POST', `/v1/operator/payments/${paymentId}/${path}`, body))).toBe(
    '410 receipt_archived',
  );
});

test.each([
  ['', ''],
  ['/refunds', '{}'],
  ['/timeline', ''],
])('so is its receipt%s', async (path, body) => {
  const answer = await fixture.ask(
    body === '' ? 'GET' : 'POST',
    `/v1/receipts/${receiptId}${path}`,
    body === '' ? undefined : {},
  );
  expect(outcome(answer)).toBe('410 receipt_archived');
});

test('its order is not taken again: under its key or its external id', async () => {
  const before = await fixture.stored();
  expect(outcome(await fixture.ask('POST', '/v1/payments', sale, { 'idempotency-key': key }))).toBe(
    '410 receipt_archived',
  );
  expect(outcome(await fixture.ask('POST', '/v1/payments', sale))).toBe('410 receipt_archived');
  expect(await fixture.stored()).toEqual(before);
});

test('a list of its time, or by its names, is 410; of another time and without one it shows what is here', async () => {
  const { rows } = await asOwner('SELECT provider_ref FROM archived_payments WHERE id = $1', [clickId]);
  for (const query of [
    `created_from=${DAY}T00:00:00Z`,
    `created_to=${LATER}T00:00:00Z`,
    `created_from=${DAY}T00:00:00Z&status=captured`,
    `receipt_id=${receiptId}`,
    `provider_ref=${String((rows[0] as { provider_ref: unknown }).provider_ref)}`,
  ])
    expect([query, outcome(await list(query))]).toEqual([query, '410 receipt_archived']);
  for (const query of ['', `created_from=${LATER}T00:00:00Z`]) {
    const { status, body } = await list(query);
    expect([status, (body['data'] as unknown[]).length]).toEqual([200, 1]);
  }
  expect((await list('provider_ref=none')).status).toBe(200);
  // One that has left by itself never had a payment.
  await asOwner(`
    INSERT INTO archives (name, state) VALUES ('receipts-${'1'.repeat(26)}', 'removed');
    INSERT INTO archived_receipts (id, merchant_id, client_id, operation, body_hash, created_at, archive)
    SELECT 'rcp_of_no_payment', merchant_id, client_id, 'receipts', '', created_at, 'receipts-${'1'.repeat(26)}' FROM archived_receipts LIMIT 1`);
  const { status, body } = await list('receipt_id=rcp_of_no_payment');
  expect([status, body['data']]).toEqual([200, []]);
});

test("a register of its day is not compared, another one's is", async () => {
  const compare = async (day: string): Promise<string> => {
    const query = `account_id=${fixture.accountIds['payme'] ?? ''}&from=${day}&to=${day}`;
    const response = await fetch(`${fixture.gateway.base}/v1/settlements?${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${fixture.gateway.token}`, 'content-type': FILE_MEDIA_TYPES.csv },
      body: [
        [
          'Идентификатор платежа (платежная система)',
          'Номер заказа',
          'Сумма без комиссии',
          'Время оплаты',
          'Состояние оплаты',
        ],
        ['another', 'another', String(PRICE / 100), `${day} 12:30:00`, 'Оплачено'],
      ]
        .map(csvLine)
        .join(''),
    });
    const { code = '' } = (await response.json()) as { code?: string };
    return `${String(response.status)} ${code}`.trim();
  };
  expect(await compare(DAY)).toBe('410 receipt_archived');
  expect(await compare(LATER)).toBe('201');
  const { rows } = await asOwner('SELECT count(*)::int AS made FROM settlements');
  expect(rows).toEqual([{ made: 1 }]);
});

test('Payme is answered as of an order and a transaction that there never were, and no statement of their time', async () => {
  const account = { order_id: paymentId };
  const code = async (method: string, params: object): Promise<unknown> =>
    (await askPayme(fixture, method, params)).error?.code;
  expect(await code('CheckPerformTransaction', { amount: PRICE, account })).toBe(-31050);
  expect(await code('CreateTransaction', { id: anId(), time: Date.now(), amount: PRICE, account })).toBe(-31050);
  for (const method of ['CheckTransaction', 'PerformTransaction', 'CancelTransaction'])
    expect([method, await code(method, { id: transactionId, reason: 5 })]).toEqual([method, -31003]);
  const from = Date.parse(THEN);
  expect(await code('GetStatement', { from: from - 1_000, to: from + 1_000 })).toBe(-32400);
  // By its own clock, which is ahead or behind.
  expect(await code('GetStatement', { from: from - 43_200_000, to: from - 1_000 })).toBe(-32400);
  const later = await askPayme(fixture, 'GetStatement', { from: from + 30 * 86_400_000, to: Date.now() });
  expect(later.result).toEqual({ transactions: [] });
  for (const end of [0, Number.MAX_SAFE_INTEGER])
    expect([end, (await askPayme(fixture, 'GetStatement', { from: end, to: end })).result]).toEqual([
      end,
      { transactions: [] },
    ]);
});

test('Click is answered that there is no such order, and nothing of it is written', async () => {
  const before = await fixture.stored();
  expect(await click(fixture, clickId)).toMatchObject({ error: -5 });
  expect(await click(fixture, clickId, { action: '1', merchant_prepare_id: '1' })).toMatchObject({
    error: expect.any(Number),
  });
  expect(await fixture.stored()).toEqual(before);
  const { rowCount } = await asOwner('SELECT FROM provider_transactions WHERE payment_id = ANY ($1)', [
    [paymentId, clickId],
  ]);
  expect(rowCount).toBe(0);
});

test('a charge under the number of an archived order is a person’s, and is not given back', async () => {
  const another = await payByClick();
  const { rows } = await asOwner(`
    INSERT INTO extra_charges (payment_id, account_id, provider_ref, amount_tiyin, reason, due_at)
    SELECT '${another}', k.account_id, k.provider_ref, ${String(PRICE)}, 'reported', now() FROM archived_payments k WHERE k.id = '${clickId}'
    RETURNING id`);
  const [{ id } = { id: '' }] = rows as { id: string }[];
  const state = async (): Promise<unknown> =>
    ((await asOwner('SELECT state FROM extra_charges WHERE id = $1', [id])).rows as { state: unknown }[])[0]?.state;
  expect(await until('it is judged', state, (judged) => judged !== 'reported')).toBe('manual');
  expect(await fixture.simulated(clickId)).toMatchObject([{ captures: 1, refunds: 0 }]);
});

test('what Payme reports of a payment that is leaving is not answered as kept', async () => {
  const leaving = await payByPayme('order 18');
  const reported = transactionId;
  await payByPayme('order 19');
  const [remove, values] = await age([leaving], `payments-${'2'.repeat(26)}`);
  const owner = new pg.Client({ connectionString: fixture.gateway.database.ownerUrl });
  await owner.connect();
  try {
    await owner.query('BEGIN');
    expect((await owner.query(remove, values)).rows).toEqual([{ removed: 1 }]);
    const fiscal_data = {
      ...{
        receipt_id: 121,
        status_code: 0,
        message: 'accepted',
        terminal_id: 'EP000000000025',
        fiscal_sign: '800031554082',
      },
      ...{
        qr_code_url: 'https://ofd.soliq.uz/check?t=EP000000000025&r=121&c=20220706180402&s=800031554082',
        date: '20220706221021',
      },
    };
    const answered = askPayme(fixture, 'SetFiscalData', { id: reported, type: 'PERFORM', fiscal_data });
    await until(
      'it waits',
      async () => (await asOwner('SELECT FROM pg_locks WHERE NOT granted')).rowCount ?? 0,
      (waiting) => waiting > 0,
    );
    await owner.query('COMMIT');
    const { result, error } = await answered;
    expect([result, typeof error.code]).toEqual([undefined, 'number']);
  } finally {
    await owner.end();
  }
  const { rowCount } = await asOwner(
    `SELECT FROM provider_callbacks WHERE payment_id = $1 AND operation = 'SetFiscalData'`,
    [leaving],
  );
  expect(rowCount).toBe(0);
});
