// Promise: a receipt that says more than its register takes is refused before anything is stored, unless its merchant omits that.
import 'reflect-metadata';
import { FISCAL_FIELDS } from '#fiscal-domain';
import { newId } from '#runtime';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';
import { SalesFixture, type SalesAnswer } from './testing/sales-fixture.js';

const SELLER = { tin: '301234567' };
const BUYER = { phone: '998901234567', pinfl: '31234567890123' };
const WALLET = { method: 'wallet', provider: 'payme' };

let fixture: SalesFixture;
let admin: string;

beforeAll(async () => {
  fixture = await SalesFixture.start();
  admin = await fixture.gateway.createToken(fixture.gateway.merchantId, ['devices:admin']);
});

afterAll(() => fixture?.stop());

beforeEach(async () => {
  await announce([]);
  await setMerchant('refuse');
  await untilSales('refused');
});

const outcome = ({ status, body }: SalesAnswer): string => `${status} ${body.code ?? body.status}`;
const faults = ({ body }: SalesAnswer): string[] =>
  (body.errors ?? []).map(({ pointer, code }) => `${code} ${pointer}`);

/** Routes and settings are cached for a moment: until the cashier's own register and the merchant's rule are as they were set. */
async function untilSales(are: 'refused' | 'accepted'): Promise<void> {
  const body = { ...everything(), device_id: fixture.device.deviceId };
  await untilTrue(
    async () => (await fixture.ask('POST', '/v1/receipts/validate', body)).status === (are === 'refused' ? 422 : 200),
    `sales are ${are}`,
  );
}

async function announce(capabilities: readonly string[], deviceId = fixture.device.deviceId): Promise<void> {
  await fixture.gateway.prisma.device.update({ where: { id: deviceId }, data: { capabilities: [...capabilities] } });
}

function setMerchant(unsupported_fields: string): Promise<SalesAnswer> {
  return fixture.ask('PATCH', '/v1/merchant', { unsupported_fields }, { token: admin });
}

function sale(more: object = {}, item: object = {}): Record<string, unknown> {
  return fixture.saleOf([fixture.item('bread', 1_000, 1), fixture.item('bread', 1_000, 1, item)], more);
}

const everything = (): Record<string, unknown> => sale({ customer: BUYER, payment: WALLET }, { commission: SELLER });
const EVERY_FAULT = [
  ...['field_unsupported /items/1/commission', 'field_unsupported /customer', 'field_unsupported /payment/provider'],
];

async function stored(id: string): Promise<Record<string, unknown>> {
  return (await fixture.gateway.receipt(id))['document'] as Record<string, unknown>;
}

describe('at a register that announces none of it', () => {
  test('seller, buyer and wallet are each refused, with pointer and code, and nothing is stored', async () => {
    const before = await fixture.gateway.world();
    const key = { 'idempotency-key': newId('cmd') };
    const refused = await fixture.ask('POST', '/v1/receipts', everything(), { headers: key });
    expect([outcome(refused), ...faults(refused)]).toEqual(['422 field_unsupported', ...EVERY_FAULT]);
    const checked = await fixture.ask('POST', '/v1/receipts/validate', everything());
    expect(faults(checked)).toEqual(EVERY_FAULT);
    const { body } = await fixture.ask('POST', '/v1/receipts/batch', {
      receipts: [{ ...everything(), external_id: newId('cmd') }],
    });
    expect(body.data[0]).toMatchObject({ status: 422, problem: { code: 'field_unsupported' } });
    expect(await fixture.gateway.world()).toBe(before);
    const other = await fixture.ask('POST', '/v1/receipts', sale({}, { commission: SELLER, price: 0 }));
    expect(faults(other)).toEqual(['E-012 /items/1/price', 'field_unsupported /items/1/commission']);
    // The key stays free.
    expect(outcome(await fixture.ask('POST', '/v1/receipts', sale(), { headers: key }))).toBe('202 accepted');
  });

  test('in the caller’s language', async () => {
    const headers = { 'accept-language': 'ru' };
    const { body } = await fixture.ask('POST', '/v1/receipts', sale({ customer: BUYER }), { headers });
    expect(body.errors[0]?.detail).toMatch(/фискальный документ/);
  });

  test.each<[string, object]>([
    ['a buyer’s phone and address', { customer: { phone: '998901234567', email: 'a@b.uz' } }],
    ['a wallet without a name', { payment: { method: 'wallet' } }],
    ['the label of an acquirer', { payment: { method: 'card', provider: 'humo' } }],
  ])('%s loses nothing', async (_what, more) => {
    expect(outcome(await fixture.ask('POST', '/v1/receipts', sale(more)))).toBe('202 accepted');
  });

  test('a seller whom the catalogue knows is refused at the item', async () => {
    const writer = await fixture.gateway.createToken(fixture.gateway.merchantId, ['catalog:write']);
    const product = {
      sku: 'by-order',
      name: 'Чужой хлеб',
      spic: '01905001001000001',
      vat_percent: 12,
      commission: SELLER,
    };
    const put = await fixture.ask('PUT', '/v1/catalog/products', { products: [product] }, { token: writer });
    expect(put.status).toBe(200);
    const body = fixture.saleOf([{ name: 'Чужой хлеб', sku: 'by-order', price: 1_000, qty: 1 }]);
    expect(faults(await fixture.ask('POST', '/v1/receipts', body))).toEqual(['field_unsupported /items/0']);
  });
});

test('a merchant that omits it sells, keeps it in its own records, and its change is on the trail', async () => {
  expect(await setMerchant('omit')).toMatchObject({ status: 200, body: { unsupported_fields: 'omit' } });
  await untilSales('accepted');
  const { status, body } = await fixture.ask('POST', '/v1/receipts', everything());
  expect(status).toBe(202);
  expect(body).toMatchObject({ customer: BUYER, payment: WALLET, items: [{}, { commission: SELLER }], fiscal: null });
  expect(await stored(body.id)).not.toHaveProperty('requiredFields');
  await fixture.register(body.id);
  const { body: read } = await fixture.ask('GET', `/v1/receipts/${body.id}`);
  expect(read.fiscal).toMatchObject({ recorded_fields: [], shift_number: null });
  const records = await fixture.gateway.audited(fixture.gateway.merchantId);
  expect(records.at(-1)).toMatchObject({
    ...{ action: 'merchant.change', before: { unsupported_fields: 'refuse' }, after: { unsupported_fields: 'omit' } },
  });
  for (const wrong of ['keep', null, true])
    expect((await fixture.ask('PATCH', '/v1/merchant', { unsupported_fields: wrong }, { token: admin })).status).toBe(
      422,
    );
});

test('what its register announces is accepted as what it must not lose, and shown as recorded when it was', async () => {
  await announce(['idempotency', 'journal', ...FISCAL_FIELDS]);
  await untilSales('accepted');
  const { status, body } = await fixture.ask('POST', '/v1/receipts', everything());
  expect(status).toBe(202);
  expect((await stored(body.id))['requiredFields']).toEqual([...FISCAL_FIELDS]);
  await fixture.register(body.id);
  await fixture.gateway.prisma.receipt.update({
    where: { id: body.id },
    data: { recordedFields: [...FISCAL_FIELDS], shiftNumber: 7 },
  });
  const { body: read } = await fixture.ask('GET', `/v1/receipts/${body.id}`);
  expect(read.fiscal).toMatchObject({ recorded_fields: [...FISCAL_FIELDS], shift_number: 7 });
  expect(await stored((await fixture.ask('POST', '/v1/receipts', sale())).body.id)).not.toHaveProperty(
    'requiredFields',
  );
});

test('a replay is never refused, whatever the register takes by now', async () => {
  await announce(FISCAL_FIELDS);
  await untilSales('accepted');
  const headers = { 'idempotency-key': newId('cmd') };
  const first = await fixture.ask('POST', '/v1/receipts', everything(), { headers });
  await announce([]);
  await untilSales('refused');
  const again = await fixture.ask('POST', '/v1/receipts', everything(), { headers });
  expect([first.status, again.status, again.body.id]).toEqual([202, 202, first.body.id]);
});

describe('where several registers could have it', () => {
  let taker: string;
  beforeAll(async () => {
    taker = (await fixture.gateway.createDevice({ capabilities: [...FISCAL_FIELDS] })).deviceId;
  });
  beforeEach(() =>
    untilTrue(async () => {
      const { status } = await fixture.ask('POST', '/v1/receipts/validate', everything());
      return status === 200;
    }, 'the new register is found'),
  );
  test('the one that takes it has it, be it not the cashier’s own', async () => {
    const { status, body } = await fixture.ask('POST', '/v1/receipts', everything());
    expect([status, body.device_id]).toEqual([202, taker]);
    expect((await fixture.ask('POST', '/v1/receipts', sale())).body.device_id).toBe(fixture.device.deviceId);
  });

  test('a register that is named is the one that is asked', async () => {
    const named = { ...everything(), device_id: fixture.device.deviceId };
    expect(faults(await fixture.ask('POST', '/v1/receipts', named))).toEqual(EVERY_FAULT);
    const other = await fixture.ask('POST', '/v1/receipts', { ...everything(), device_id: taker });
    expect(outcome(other)).toBe('202 accepted');
  });

  test('who omits it sells at the cashier’s own all the same, and prefers one that takes it among equals', async () => {
    await setMerchant('omit');
    await untilSales('accepted');
    expect((await fixture.ask('POST', '/v1/receipts', everything())).body.device_id).toBe(fixture.device.deviceId);
    const free = { id: newId('csh'), merchantId: fixture.gateway.merchantId, code: newId('csh'), name: 'Free' };
    const branchId = fixture.gateway.merchantId.replace('mer_', 'brn_');
    await fixture.gateway.prisma.cashier.create({ data: { ...free, branchId } });
    for (let turn = 0; turn < 4; turn += 1) {
      const { body } = await fixture.ask('POST', '/v1/receipts', { ...everything(), cashier_id: free.code });
      expect(body.device_id).toBe(taker);
    }
  });
});

describe('a refund', () => {
  const sold = async (recordedFields: string[]): Promise<string> => {
    await announce(FISCAL_FIELDS);
    await untilSales('accepted');
    const { body } = await fixture.ask('POST', '/v1/receipts', { ...everything(), device_id: fixture.device.deviceId });
    await fixture.register(body.id);
    await fixture.gateway.prisma.receipt.update({ where: { id: body.id }, data: { recordedFields } });
    return body.id;
  };

  test('of what the sale’s document holds is refused where the register no longer takes it, unless that is omitted', async () => {
    const id = await sold(['commission']);
    await announce([]);
    const refused = await fixture.refund(id);
    expect([outcome(refused), ...faults(refused)]).toEqual(['422 field_unsupported', 'field_unsupported ']);
    await setMerchant('omit');
    const refunded = await fixture.refund(id);
    expect(outcome(refunded)).toBe('202 accepted');
    expect(await stored(refunded.body.id)).toMatchObject({ withheldFields: ['customer'] });
    expect(await stored(refunded.body.id)).not.toHaveProperty('requiredFields');
  });

  test('of a sale whose document holds none of it needs a register that takes none', async () => {
    const id = await sold([]);
    await announce([]);
    const refunded = await fixture.refund(id);
    expect(outcome(refunded)).toBe('202 accepted');
    expect(await stored(refunded.body.id)).toMatchObject({ withheldFields: ['commission', 'customer'] });
  });
});
