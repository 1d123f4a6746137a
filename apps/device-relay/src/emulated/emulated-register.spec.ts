// Breaks if a sandbox's register answers otherwise than the register of docs/cash-register.md.
import { vatContained, type SaleResponse } from '#fiscal-domain';
import { createLogger } from '#runtime';
import { NEW_STATE, type EmulatedState } from './emulated-module.js';
import { EmulatedRegisters } from './emulated-register.js';
import type { EmulatedStore, LockedRegister } from './emulated-store.js';

/** One register whose row is kept here. */
class OneRegister {
  private state: EmulatedState = NEW_STATE;
  private readonly registers = new EmulatedRegisters(
    {
      locked: <T>(_deviceId: string, work: (tx: never, known: LockedRegister) => Promise<T>) =>
        work(undefined as never, this.known()),
      find: () => Promise.resolve(null),
      unsentCount: () => Promise.resolve(0),
      saveState: (_tx: unknown, _deviceId: string, state: EmulatedState) => Promise.resolve(void (this.state = state)),
      keep: () => Promise.resolve(),
    } as unknown as EmulatedStore,
    createLogger('test', 'silent'),
  );

  async call(method: 'GET' | 'POST', path: string, body: unknown = null): Promise<unknown> {
    const sale = { body, key: null, vatRule: 'unit', forced: null } as const;
    const answer = await this.registers.call('dev_1', { method, path, sale });
    return answer?.kind === 'answered' ? answer.body : null;
  }

  private known(): LockedRegister {
    return {
      ...{ terminalId: 'ZZ000000000001', journalId: 'journal', state: this.state, isOffline: false },
      ...{ now: new Date('2026-11-29T10:00:00Z'), merchant: { name: 'Demo', tin: '300000000' } },
      branch: { id: 'branch', address: 'Toshkent' },
    };
  }
}

const sale = (price: number): unknown => ({
  type: 'sale',
  items: [{ name: 'Non', spic: '01905001001000000', units: 796, price, amount: 1000, vatPercent: 0, vat: 0 }],
  received: { cash: price, card: 0 },
});

let register: OneRegister;
beforeEach(() => {
  register = new OneRegister();
});

test('before its first shift GET /z-report/current is F-002: there never was one', async () => {
  expect(await register.call('GET', '/z-report/current')).toMatchObject({ success: false, error: { code: 'F-002' } });
});

test('a sale that would make the lifetime sums inexact is F-003, and GET /fm/info stays readable', async () => {
  await register.call('POST', '/z-report/open');
  const first = (await register.call('POST', '/receipts', sale(Number.MAX_SAFE_INTEGER))) as SaleResponse;
  expect(first.receipt.receiptSeq).toBe(1);
  expect(await register.call('POST', '/receipts', sale(1))).toMatchObject({
    error: { code: 'F-003', details: { reason: 'sums_full' } },
  });
  expect(await register.call('GET', '/fm/info')).toMatchObject({
    currentReceiptSeq: 1,
    AccumulatedSaleCash: Number.MAX_SAFE_INTEGER,
  });
});

test('a sale that is alone comes back in parts: the rounding of their VAT refuses none', async () => {
  const info = { terminalId: 'ZZ000000000001', receiptSeq: 1, dateTime: '20261129T150000', fiscalSign: '123456789012' };
  const document = (type: string, price: number): unknown => ({
    ...(sale(price) as object),
    ...{
      type,
      items: [{ ...(sale(price) as { items: object[] }).items[0], vatPercent: 12, vat: vatContained(price, 12) }],
    },
    ...(type === 'refund' && { refundInfo: info }),
  });
  await register.call('POST', '/z-report/open');
  await register.call('POST', '/receipts', document('sale', 10));
  // 5 tiyin hold 0.54 tiyin of VAT, 10 hold 1.07.
  for (const price of [5, 5]) {
    expect(await register.call('POST', '/receipts', document('refund', price))).toMatchObject({ success: true });
  }
  expect(await register.call('GET', '/fm/info')).toMatchObject({ AccumulatedRefundCash: 10, AccumulatedRefundVAT: 1 });
  expect(await register.call('POST', '/receipts', document('refund', 1))).toMatchObject({
    error: { code: 'F-005', details: { reason: 'refund_exceeds_sales' } },
  });
});
