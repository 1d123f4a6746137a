// Promise: what would sell twice, or forget that a receipt may be unknown, does not compile (checked by `npm test -- types`).
import type { FiscalGateway, Receipt } from './index.js';

/** Never called: the compiler is the test. */
export async function mustNotCompile(fgw: FiscalGateway, receipt: Receipt): Promise<void> {
  const sale = {
    items: [{ name: 'Non', price: 450_000, qty: 2 }],
    payment: { method: 'cash' as const },
    cashier_id: 'c',
  };

  // @ts-expect-error -- neither key nor external_id: a repeat would be a second sale
  await fgw.receipts.create(sale);
  // @ts-expect-error -- a key that may be missing is none
  await fgw.receipts.create(sale, { idempotencyKey: undefined });
  // @ts-expect-error -- null is no number of a sale
  await fgw.receipts.create({ ...sale, external_id: null });
  // @ts-expect-error -- refunds too
  await fgw.receipts.refund('rcp_1', {});
  // @ts-expect-error -- money that the gateway collects too
  await fgw.payments.create({ ...sale, payment: { method: 'online' } });
  // @ts-expect-error -- each sale of a batch
  await fgw.receipts.batch([sale]);
  // @ts-expect-error -- a field that there is not
  await fgw.receipts.create({ ...sale, cashier: 'c' }, { idempotencyKey: 'k' });
  // @ts-expect-error -- no such operation
  await fgw.request('PUT', '/v1/receipts', {});
  // @ts-expect-error -- the name in the path is missing
  await fgw.request('GET', '/v1/devices/{id}', {});
  // @ts-expect-error -- it answers no list
  fgw.list('/v1/merchant', {});

  // @ts-expect-error -- a receipt on its way has no fiscal sign
  void receipt.fiscal.fiscal_sign;
  // @ts-expect-error -- created is not yet registered: the state must be asked for first
  void (await fgw.receipts.create(sale, { idempotencyKey: 'k' })).fiscal.fiscal_sign;
  // @ts-expect-error -- waiting may end with `unknown`
  void (await fgw.receipts.waitUntilFinal('rcp_1')).fiscal.fiscal_sign;
}

/** Every state has its branch; without `unknown` the last line would not compile. */
export function allStates(receipt: Receipt): string | null {
  switch (receipt.status) {
    case 'registered':
      return receipt.fiscal.fiscal_sign;
    case 'rejected':
      return receipt.rejection?.code ?? null;
    case 'unknown':
    case 'cancelled':
    case 'accepted':
    case 'sending':
    case 'awaiting_payment':
      return null;
    default:
      return receipt satisfies never;
  }
}

/** What must compile, so that the lines above fail for their own reason. */
export async function mustCompile(fgw: FiscalGateway): Promise<void> {
  const sale = {
    items: [{ name: 'Non', price: 450_000, qty: 2 }],
    payment: { method: 'cash' as const },
    cashier_id: 'c',
  };
  await fgw.receipts.create(sale, { idempotencyKey: 'k' });
  const created = await fgw.receipts.create({ ...sale, external_id: 'S-1' });
  if (created.status === 'registered') void created.fiscal.verification_url;
  await fgw.receipts.refund(created.id, {}, { idempotencyKey: 'k' });
  await fgw.receipts.refund(created.id, undefined, { idempotencyKey: 'k' });
  await fgw.receipts.batch([{ ...sale, external_id: 'S-2' }]);
  for await (const { total } of fgw.receipts.list({ status: 'registered', total_min: 100, limit: 50 }))
    void total.toFixed();
  for await (const { name } of fgw.list('/v1/devices', { query: { limit: 5 } })) void name.length;
  for await (const { type } of fgw.events.follow({ types: ['receipt.*'] })) void type.length;
  const { signing_policy: policy } = await fgw.request('GET', '/v1/clients/{id}', { path: { id: 'cli_1' } });
  void policy.length;
  const removed: undefined = await fgw.request('DELETE', '/v1/devices/{id}', { path: { id: 'dev_1' } });
  void removed;
}

test('the types are held', () => {
  expect(allStates({ status: 'unknown' } as Receipt)).toBeNull();
});
