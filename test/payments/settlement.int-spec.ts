// Promise: a provider's register is held against payments and receipts by day: what is missing, extra, twice, different, and what the provider kept.
import { buffer } from 'node:stream/consumers';
import { FILE_MEDIA_TYPES } from '#http';
import { newId } from '#runtime';
import { csvLine } from '../../apps/gateway/src/goods/sheets/csv.js';
import { xlsxStream, type Cell } from '../../apps/gateway/src/goods/sheets/xlsx-writer.js';
import type { DifferenceView, SettlementView } from '../../apps/gateway/src/payments/settlement/settlement-view.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();
/** The day of payments of ours, far from any midnight that this test may run over. */
const DAY = '2026-03-04';
const AT = '2026-03-04 12:30:00';
const SOM = String(PRICE / 100);
const HEAD = ['ID транзакции', 'Номер заказа', 'Сумма', 'Комиссия', 'Дата', 'Статус'];

interface Sent {
  status: number;
  body: SettlementView & { code: string; detail: string; errors: { pointer: string }[] };
}

async function send(
  content: string | Buffer,
  {
    format = 'csv',
    query = `account_id=${octo()}&from=${DAY}&to=${DAY}`,
    headers = {},
  }: {
    format?: 'csv' | 'xlsx' | 'jsonl';
    query?: string;
    headers?: Record<string, string>;
  } = {},
): Promise<Sent> {
  const response = await fetch(`${fixture.gateway.base}/v1/settlements?${query}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${fixture.gateway.token}`,
      'content-type': FILE_MEDIA_TYPES[format],
      ...headers,
    },
    body: new Uint8Array(Buffer.from(content)),
  });
  return { status: response.status, body: (await response.json()) as Sent['body'] };
}

const octo = (): string => fixture.accountIds['octo'] ?? '';
const csv = (...rows: Cell[][]): string => [HEAD, ...rows].map(csvLine).join('');

async function differencesOf(id: string): Promise<DifferenceView[]> {
  const { body } = await fixture.ask('GET', `/v1/settlements/${id}/differences?limit=100`);
  return body['data'] as DifferenceView[];
}

interface Paid {
  id: string;
  ref: string;
  receiptId: string;
}

/** Paid on the provider's page and registered; taken on the register's day, as far as our books say. */
async function paid(provider = 'octo'): Promise<Paid> {
  const view = (await fixture.pay({ provider })).body;
  await fixture.payOnPage(view);
  await fixture.until(view.id, { status: 'captured', receipt: 'registered' });
  const [row] = await fixture.gateway.prisma.$queryRaw<{ provider_ref: string; captured_at: Date | null }[]>`
    SELECT provider_ref, captured_at FROM payments WHERE id = ${view.id}`;
  // Written with the money itself.
  expect(row?.captured_at).toBeInstanceOf(Date);
  await fixture.gateway.prisma.$executeRaw`
    UPDATE payments SET captured_at = ${`${AT}+05`}::text::timestamptz WHERE id = ${view.id}`;
  return { id: view.id, ref: row?.provider_ref ?? '', receiptId: view.receipt.id };
}

const payments: Paid[] = [];

beforeAll(async () => {
  for (let nth = 0; nth < 4; nth += 1) payments.push(await paid());
});

/** A payment whose rows a test does not care about stands there as it should. */
const right = (index: number, commission: string | null = null): Cell[] => {
  const { ref = '', id = '' } = payments[index] ?? {};
  return [ref, id, SOM, commission, AT, 'succeeded'];
};

it.each(['csv', 'xlsx'] as const)('%s: a register that agrees has no differences, and sums by day', async (format) => {
  const rows = [HEAD, right(0, '11,20'), right(1, '11,20'), right(2, '11,20'), right(3, '11,20'), [null, null, '4480']];
  const content = format === 'csv' ? rows.map(csvLine).join('') : await buffer(xlsxStream([['Octo'], [], ...rows]));
  const { status, body } = await send(content, { format });
  expect([status, body.differences, body.rows, body.left_out]).toEqual([201, {}, 5, 1]);
  expect(body.days).toEqual([
    {
      day: DAY,
      theirs: { payments: 4, paid: 4 * PRICE, refunded: 0, commission: 4 * 1_120 },
      ours: { payments: 4, paid: 4 * PRICE, refunded: 0 },
      differences: {},
    },
  ]);
  expect((await fixture.ask('GET', `/v1/settlements/${body.id}`)).body).toEqual(body);
  const list = (await fixture.ask('GET', '/v1/settlements?limit=1')).body['data'] as SettlementView[];
  expect(list.map(({ id }) => id)).toEqual([body.id]);
});

it('names what is missing, extra, twice, of another sum or day, and what cannot be read', async () => {
  const [first, second] = payments;
  const { status, body } = await send(
    csv(
      [first?.ref ?? '', null, '1120.50', null, '04.03.2026 12:30', null],
      right(1),
      right(1),
      ['unknown-ref', 'unknown-order', SOM, null, AT, null],
      [null, payments[2]?.id ?? '', SOM, null, '2026-03-05T02:00:00Z', null],
      ['odd', null, '1.120', null, AT, null],
      ['late', null, SOM, null, 'yesterday', null],
    ),
  );
  expect([status, body.differences]).toEqual([
    201,
    { amount: 1, duplicate: 1, extra: 1, day: 1, unreadable: 2, missing: 1 },
  ]);
  const found = await differencesOf(body.id);
  const by = (kind: string) => found.filter((each) => each.kind === kind);
  expect(by('amount')).toEqual([
    expect.objectContaining({ payment_id: first?.id, ours: PRICE, theirs: 112_050, row: 2, day: DAY }),
  ]);
  expect(by('duplicate')).toEqual([expect.objectContaining({ payment_id: second?.id, theirs: 2 * PRICE })]);
  expect(by('extra')).toEqual([expect.objectContaining({ provider_ref: 'unknown-ref', theirs: PRICE, ours: null })]);
  expect(by('day')).toEqual([expect.objectContaining({ payment_id: payments[2]?.id, day: '2026-03-05' })]);
  expect(by('missing')).toEqual([
    expect.objectContaining({
      payment_id: payments[3]?.id,
      receipt_id: payments[3]?.receiptId,
      ours: PRICE,
      theirs: null,
    }),
  ]);
  expect(by('unreadable').map(({ row }) => row)).toEqual([7, 8]);
});

it('counts the differences of each day, by kind', async () => {
  const query = `account_id=${octo()}&from=2026-03-03&to=2026-03-05`;
  const before = '2026-03-03 10:00:00';
  const rows = csv(
    ['stranger-1', null, SOM, null, before, null],
    ['stranger-2', null, SOM, null, before, null],
    [payments[0]?.ref ?? '', null, '1120.50', null, AT, null],
    right(1),
    ['odd', null, '1.120', null, AT, null],
    ['beyond', null, SOM, null, '2026-03-09 10:00:00', null],
  );
  const { body } = await send(rows, { query });
  // What has no day, or one outside of the register's, is in the whole alone.
  expect(body.differences).toEqual({ extra: 3, amount: 1, missing: 2, day: 1, unreadable: 1 });
  expect(body.days.map(({ day, differences }) => [day, differences])).toEqual([
    ['2026-03-03', { extra: 2 }],
    [DAY, { amount: 1, missing: 2 }],
    ['2026-03-05', {}],
  ]);
  expect((await fixture.ask('GET', `/v1/settlements/${body.id}`)).body['days']).toEqual(body.days);
});

it('does not say of a report from before that its days had no differences', async () => {
  const { body } = await send(csv(right(0)));
  await fixture.gateway.prisma.$executeRaw`
    UPDATE settlements SET report = report #- '{days,0,differences}' WHERE id = ${body.id}`;
  const [day] = (await fixture.ask('GET', `/v1/settlements/${body.id}`)).body['days'] as SettlementView['days'];
  expect(day?.differences).toBeNull();
});

it('knows money that went back: here, there, and on both sides', async () => {
  const refunded = await paid();
  expect((await fixture.ask('POST', `/v1/receipts/${refunded.receiptId}/refunds`, {})).status).toBeLessThan(300);
  await fixture.until(refunded.id, { status: 'refunded' });
  const all = [right(0), right(1), right(2), right(3)];
  const absent = await send(csv(...all));
  // What has wholly gone back a register may leave out.
  expect(absent.body.differences).toEqual({});
  const both = await send(
    csv(...all, [refunded.ref, null, SOM, null, AT, null], [refunded.ref, null, `-${SOM}`, null, AT, 'возврат']),
  );
  expect(both.body.differences).toEqual({});
  expect(both.body.days[0]?.theirs).toMatchObject({ paid: 5 * PRICE, refunded: PRICE });
  const there = await send(csv(...all, [payments[0]?.ref ?? '', null, SOM, null, AT, 'Отменён']));
  expect(there.body.differences).toEqual({ refund: 1 });
});

it('sees a second charge under another id, and a refund that names what was never in the register', async () => {
  const [first, second] = payments;
  const { body } = await send(
    csv(
      right(0),
      ['second-charge', first?.id ?? '', SOM, null, AT, 'succeeded'],
      ['refund-1', second?.id ?? '', `-${SOM}`, null, AT, 'возврат'],
      right(2),
      right(3),
    ),
  );
  expect(body.differences).toEqual({ duplicate: 1, refund: 1, missing: 1 });
  const found = await differencesOf(body.id);
  const seen = found.map(({ kind, payment_id: id, provider_ref: ref, row }) => [kind, id, ref, row]);
  expect(seen).toEqual([
    ['duplicate', first?.id, 'second-charge', 3],
    ['refund', second?.id, 'refund-1', 4],
    ['missing', second?.id, second?.ref, null],
  ]);
});

it('refuses a register whose sums are more than a whole number can hold', async () => {
  const most = '90071992547409';
  const rows = ['a', 'b'].map((ref): Cell[] => [ref, null, most, null, AT, null]);
  expect((await send(csv(...rows.slice(0, 1)))).status).toBe(201);
  expect((await send(csv(...rows))).body).toMatchObject({
    code: 'import_unreadable',
    detail: expect.stringContaining('row 3'),
  });
});

it('holds the commission against the merchant’s rule', async () => {
  const rules = [{ provider: 'octo', cost_basis_points: 100 }];
  expect((await fixture.ask('PUT', '/v1/payment-routing', { prefer: 'order', rules })).status).toBe(200);
  // 11.20 som by the rule; a register rounds to whole som.
  const { body } = await send(csv(right(0, '11'), right(1, '11.20'), right(2, '22,40'), right(3)));
  expect(body.differences).toEqual({ commission: 1 });
  expect(await differencesOf(body.id)).toEqual([
    expect.objectContaining({ kind: 'commission', payment_id: payments[2]?.id, ours: 1_120, theirs: 2_240 }),
  ]);
});

it('reads a register by the merchant’s own form', async () => {
  const form = {
    columns: { provider_ref: ['Kod'], amount: ['Tiyin'], time: ['Kun'], status: ['Natija'] },
    ...{ amount_unit: 'tiyin', refund_words: ['qaytdi'], paid_words: ['ok'] },
  };
  const put = await fixture.ask('PUT', '/v1/settlement-forms/octo', form);
  expect([put.status, put.body['is_default']]).toEqual([200, false]);
  const rows = payments.map(({ ref }): Cell[] => [ref, PRICE, DAY, 'OK']);
  const table = [['Kod', 'Tiyin', 'Kun', 'Natija'], ...rows, [payments[0]?.ref ?? '', PRICE, DAY, 'xato']];
  const { body } = await send(table.map(csvLine).join(''));
  expect([body.differences, body.left_out]).toEqual([{}, 1]);
  const unread = await send(csv(right(0)));
  expect([unread.status, unread.body.code]).toEqual([422, 'import_unreadable']);
  await fixture.gateway.prisma.$executeRaw`DELETE FROM settlement_forms`;
});

it.each<[string, Record<string, unknown>, string]>([
  ['no reference', { columns: { amount: ['a'], time: ['t'] } }, '/columns/provider_ref'],
  [
    'another unit',
    { columns: { provider_ref: ['r'], amount: ['a'], time: ['t'] }, amount_unit: 'usd' },
    '/amount_unit',
  ],
  [
    'half a character',
    { columns: { provider_ref: ['r'], amount: ['a'], time: ['t'] }, refund_words: ['\ud800'] },
    '/refund_words',
  ],
  ['no column of the sum', { columns: { provider_ref: ['r'], time: ['t'] } }, '/columns/amount'],
])('refuses a form with %s', async (_name, given, pointer) => {
  const form = { amount_unit: 'som', refund_words: [], paid_words: [], ...given };
  const { status, body } = await fixture.ask('PUT', '/v1/settlement-forms/octo', form);
  expect([status, body.errors.map((fault) => fault.pointer)]).toEqual([422, [expect.stringContaining(pointer)]]);
});

/** A provider's file as its cabinet hands it out: what stands above its headings, and its rows. */
interface Cabinet {
  above: Cell[][];
  head: Cell[];
  /** A payment that stayed; without a commission that the file says. */
  paid: (payment: Paid, commission: string) => Cell[];
  /** Rows that are about no money that stayed. */
  failed: Cell[][];
  /** What the rows say that the provider kept of the first. */
  keptTiyin: number;
}

const PAYME_REF = 'ИДЕНТИФИКАТОР ПЛАТЕЖА \n (ПЛАТЕЖНАЯ СИСТЕМА)';
const paymeRow = (status: string, cancelled: string, [ref, order]: [string, string], fee: string): Cell[] => [
  ...[1, 'Касса', status, '04-03-2026 12:30:00', cancelled, SOM, fee, ref, order],
];

const CABINETS: Record<string, Cabinet> = {
  payme: {
    above: [['ТИП ОТЧЕТА', null, 'Платежи'], ['С', '04-03-2026'], ['ПО', '04-03-2026'], [], ['ИТОГО', 3], []],
    head: [
      ...['№', 'НАЗВАНИЕ КАССЫ', 'СОСТОЯНИЕ ОПЛАТЫ', 'ВРЕМЯ  ОПЛАТЫ', 'ВРЕМЯ ОТМЕНЫ', 'Сумма без комиссии'],
      ...['КОМИССИЯ С КЛИЕНТА', PAYME_REF, 'НОМЕР ЗАКАЗА'],
    ],
    paid: ({ ref }, commission) => paymeRow('ОПЛАЧЕНО', 'N/A', [ref, 'N/A'], commission),
    failed: [
      paymeRow('ОТМЕНЕНО', '04-03-2026 12:31:00', ['payme-failed', '900001'], 'N/A'),
      // Paid, and cancelled afterwards.
      paymeRow('ОПЛАЧЕНО', '04-03-2026 12:32:00', ['payme-back', '900002'], '0'),
    ],
    // What the customer pays on top is nothing that Payme keeps of the sum.
    keptTiyin: 0,
  },
  click: {
    above: [],
    head: ['Дата', 'Сервис', 'Сумма', 'Комиссия', 'Идент-р', 'Click ID', 'Billing ID', 'Статус платежа'],
    paid: ({ id, ref }, commission) => [AT, 'Non', SOM, commission, id, ref, '77', 'Успешно подтвержден'],
    failed: [[AT, 'Non', SOM, '-', 'unknown-order', '900001', '-', 'Ошибка']],
    keptTiyin: 1_120,
  },
  uzum: {
    above: [],
    head: ['Сумма', 'Комиссия', 'Статус', 'merchantId', 'receiptId', 'Дата и время'],
    paid: ({ ref }, commission) => [SOM, commission, 'SUCCESS', 'm-1', ref, '04.03.2026, 12:30:00'],
    failed: [[SOM, 'N/A', 'FAILED', 'm-1', 'uzum-failed', '04.03.2026, 12:31:00']],
    keptTiyin: 1_120,
  },
};

describe.each(Object.entries(CABINETS))('the file of the cabinet of %s', (provider, cabinet) => {
  const two: Paid[] = [];
  beforeAll(async () => {
    two.push(await paid(provider), await paid(provider));
  });

  const query = (): string => `account_id=${fixture.accountIds[provider] ?? ''}&from=${DAY}&to=${DAY}`;
  const content = async (format: 'csv' | 'xlsx', rows: Cell[][]): Promise<string | Buffer> => {
    const table = [...cabinet.above, cabinet.head, ...rows];
    return format === 'csv' ? table.map(csvLine).join('') : buffer(xlsxStream(table));
  };

  it.each(['csv', 'xlsx'] as const)(
    '%s: is read by the default form: what was paid, what failed, what is N/A',
    async (format) => {
      const said = two.map((payment, index) => cabinet.paid(payment, index === 0 ? '11.20' : 'N/A'));
      const { status, body } = await send(await content(format, [...said, ...cabinet.failed]), {
        format,
        query: query(),
      });
      expect([status, body.differences, body.left_out]).toEqual([201, {}, cabinet.failed.length]);
      const theirs = { payments: 2, paid: 2 * PRICE, refunded: 0, commission: cabinet.keptTiyin };
      expect(body.days.map((day) => day.theirs)).toEqual([theirs]);
    },
  );

  it('shows its form, and gives way to the merchant’s own', async () => {
    const shown = (await fixture.ask('GET', `/v1/settlement-forms/${provider}`)).body;
    expect([shown['is_default'], shown['paid_words']]).toEqual([true, [expect.any(String)]]);
    const form = {
      columns: { provider_ref: ['Kod'], amount: ['Summa'], time: ['Kun'] },
      ...{ amount_unit: 'som', refund_words: [], paid_words: [] },
    };
    expect((await fixture.ask('PUT', `/v1/settlement-forms/${provider}`, form)).status).toBe(200);
    const own = [['Kod', 'Summa', 'Kun'], ...two.map(({ ref }): Cell[] => [ref, SOM, DAY])];
    const { body } = await send(own.map(csvLine).join(''), { query: query() });
    expect([body.differences, body.rows]).toEqual([{}, 2]);
    const [first] = two;
    const theirs = await content('csv', first ? [cabinet.paid(first, '0')] : []);
    expect((await send(theirs, { query: query() })).body.code).toBe('import_unreadable');
    await fixture.gateway.prisma.$executeRaw`DELETE FROM settlement_forms`;
  });
});

describe('refuses', () => {
  const query = (more: Record<string, string>): string =>
    new URLSearchParams({ account_id: octo(), from: DAY, to: DAY, ...more }).toString();

  it.each<[string, Record<string, string>, number]>([
    ['a day that is none', { from: '2026-02-30' }, 422],
    ['days the wrong way round', { from: '2026-03-05' }, 422],
    ['more than a month', { from: '2026-01-01' }, 422],
    ['an account of no merchant', { account_id: newId('pac') }, 404],
    ['what is no id', { account_id: 'x' }, 404],
  ])('%s', async (_name, more, status) => {
    expect((await send(csv(right(0)), { query: query(more) })).status).toBe(status);
  });

  it('another merchant’s account and settlements', async () => {
    const stranger = await fixture.stranger(['payments:write', 'payments:read']);
    expect((await send(csv(right(0)), { headers: stranger })).status).toBe(404);
    const { body } = await send(csv(right(0)));
    for (const path of [`/v1/settlements/${body.id}`, `/v1/settlements/${body.id}/differences`])
      expect((await fixture.ask('GET', path, undefined, stranger)).status).toBe(404);
    expect((await fixture.ask('GET', '/v1/settlements', undefined, stranger)).body['data']).toEqual([]);
  });

  it('files that are none, hold formulas, or are too much', async () => {
    expect((await send('{}', { format: 'jsonl' })).status).toBe(415);
    for (const content of ['', 'no;register\r\n1;2\r\n', '\u0000'.repeat(100)]) {
      const { status, body } = await send(content);
      expect([status, body.code]).toEqual([422, 'import_unreadable']);
    }
    expect((await send('not a workbook', { format: 'xlsx' })).body.code).toBe('import_unreadable');
    const rubbish = Array.from({ length: 1_002 }, (_, nth): Cell[] => [
      `r${String(nth)}`,
      null,
      'free',
      null,
      AT,
      null,
    ]);
    expect((await send(csv(...rubbish))).body.code).toBe('import_unreadable');
    const many = `${csv(right(0))}${`x,,1,,${AT},\r\n`.repeat(100_001)}`;
    expect((await send(many)).body.detail).toContain('100000');
  });
});
