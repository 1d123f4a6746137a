// Through every way of paying money and receipt agree, whatever is lost, late, refused or gone in between.
import { until } from '../../libs/runtime/src/testing/until.js';
import type { PaymentsFixture } from './payments-fixture.js';
import { LATE_MS, paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();

interface Way {
  payment: Record<string, unknown>;
  choose?: (fixture: PaymentsFixture) => Promise<void>;
  /** Whether the money waits for the receipt. */
  isHeld: boolean;
  /** Whether we can give parts back. */
  parts: boolean;
  /** False: only its cabinet gives back. */
  isRefunded?: boolean;
  /** Where it stays while a call that was lost on its way cannot be distinguished from one that was done, and why it ends. */
  unfindable?: 'authorize_unknown' | 'pending';
  /** False: the page keeps what it makes of a declined card to itself. */
  showsDecline?: boolean;
}

const CODE = `6385${'7'.repeat(39)}`;
const uzum = (settings: Record<string, string>) => (on: PaymentsFixture) =>
  on.choose('uzum', { page: 'checkout', fiscal_mode: 'gateway', ...settings });

const WAYS: Record<string, Way> = {
  'payme, by token': { payment: { provider: 'payme', token: 'token-0001' }, isHeld: true, parts: false },
  'click, by token': { payment: { provider: 'click', token: 'token-0001' }, isHeld: false, parts: true },
  'click, by phone': {
    ...{ payment: { provider: 'click', phone: '998901234567' }, isHeld: false, parts: true },
    // The customer may have been asked, and may still pay: until the time to pay is over.
    unfindable: 'pending',
  },
  'multicard, by token': { payment: { provider: 'multicard', token: 'token-0001' }, isHeld: true, parts: true },
  'multicard, by invoice': {
    ...{ payment: { provider: 'multicard' }, isHeld: false, parts: false, showsDecline: false },
  },
  'uzum checkout, two steps by token': {
    ...{ payment: { provider: 'uzum', token: 'token-0001' }, choose: uzum({ pay_type: 'TWO_STEP' }) },
    ...{ isHeld: true, parts: true },
  },
  'uzum checkout, two steps on its page': {
    ...{ payment: { provider: 'uzum' }, choose: uzum({ pay_type: 'TWO_STEP' }), isHeld: true, parts: true },
  },
  'uzum checkout, one step by token': {
    ...{ payment: { provider: 'uzum', token: 'token-0001' }, choose: uzum({ pay_type: 'ONE_STEP' }) },
    ...{ isHeld: false, parts: true },
  },
  'uzum checkout, one step on its page': {
    ...{ payment: { provider: 'uzum' }, choose: uzum({ pay_type: 'ONE_STEP' }), isHeld: false, parts: true },
  },
  'uzum fast pay': {
    ...{ payment: { provider: 'uzum', qr_code: CODE }, isHeld: false, parts: false, unfindable: 'authorize_unknown' },
  },
  'octo, two stages': {
    ...{
      payment: { provider: 'octo' },
      choose: (on) => on.choose('octo', { stages: 'two' }),
      isHeld: true,
      parts: true,
    },
  },
  'octo, one stage': {
    ...{
      payment: { provider: 'octo' },
      choose: (on) => on.choose('octo', { stages: 'one' }),
      isHeld: false,
      parts: true,
    },
  },
  'atmos, charged': {
    ...{ payment: { provider: 'atmos', token: 'token-0001' }, isHeld: false, parts: false },
    choose: (on) => on.choose('atmos', { mode: 'charge' }),
  },
  'atmos, held': {
    ...{ payment: { provider: 'atmos', token: 'token-0001' }, isHeld: true, parts: false, isRefunded: false },
    choose: (on) => on.choose('atmos', { mode: 'hold' }),
  },
  'stripe, held': {
    ...{ payment: { provider: 'stripe', token: 'pm_card_0001' }, isHeld: true, parts: true },
    choose: (on) => on.choose('stripe', { capture: 'manual' }),
  },
  'stripe, held after a page of the bank': {
    ...{ payment: { provider: 'stripe', token: 'pm_3ds_0001', return_url: 'https://shop.example/back' } },
    ...{ isHeld: true, parts: true, choose: (on) => on.choose('stripe', { capture: 'manual' }) },
  },
  'stripe, charged': {
    ...{ payment: { provider: 'stripe', token: 'pm_card_0001' }, isHeld: false, parts: true },
    choose: (on) => on.choose('stripe', { capture: 'automatic' }),
  },
};

const FAULTS = ['drop_before', 'drop_after', 'error_before', 'error_after', 'malformed', 'delay', 'late'] as const;
/** Whatever is asked anew goes through within the saga's pauses. */
const PATIENCE_MS = 120_000;

/** Every second fault, by turns: each strikes several ways, and each way's single calls are struck by all in provider-contract.int-spec.ts. */
function strikesOf(name: string): string[] {
  const turn = Object.keys(WAYS).indexOf(name);
  return FAULTS.filter((_, index) => (index + turn) % 2 === 0);
}

describe.each(Object.entries(WAYS))('%s', (name, way) => {
  beforeAll(() => way.choose?.(fixture));

  async function pay(): Promise<string> {
    const { body, status } = await fixture.pay(way.payment);
    expect(status).toBeLessThan(300);
    await settleNextAction(body.id);
    return body.id;
  }

  /** The customer pays as soon as there is a page, or the phone is asked. */
  async function settleNextAction(id: string): Promise<void> {
    const { next_action: action } = await until(
      `payment ${id} has a page or an end`,
      () => fixture.read(id),
      ({ status, next_action: { type } }) => type === 'redirect' || !/^(created|authorizing)$/.test(status),
      PATIENCE_MS,
    );
    if (action.type === 'redirect') await fixture.press(action.url);
    // Also where the answer to the asking was lost.
    if (way.payment['phone'] !== undefined) await fixture.press(`${fixture.simulatorUrl}/click/invoice/${id}`);
  }

  async function moneyOf(id: string) {
    const all = await fixture.simulated(id);
    const sum = (pick: (each: (typeof all)[number]) => number): number => all.reduce((of, each) => of + pick(each), 0);
    return { captures: sum(({ captures }) => captures), refunded: sum(({ refunded }) => refunded) };
  }

  it('is paid and registered, then refunded whole: receipt and money', async () => {
    const id = await pay();
    const { receipt } = await fixture.until(id, { status: 'captured', receipt: 'registered' });
    expect(await moneyOf(id)).toEqual({ captures: 1, refunded: 0 });
    if (way.isRefunded === false) return;
    expect((await fixture.ask('POST', `/v1/receipts/${receipt.id}/refunds`, {})).status).toBeLessThan(300);
    await fixture.until(id, { status: 'refunded' });
    expect(await moneyOf(id)).toEqual({ captures: 1, refunded: PRICE });
    await fixture.untilRefunded(receipt.id);
  });

  it('is refunded in parts where the provider can, refused before anything is stored where not', async () => {
    if (way.isRefunded === false) return;
    const id = await pay();
    const { receipt } = await fixture.until(id, { status: 'captured', receipt: 'registered' });
    const stored = await fixture.stored();
    const part = { lines: [{ line: 1, qty: '0.5' }] };
    const first = await fixture.ask('POST', `/v1/receipts/${receipt.id}/refunds`, part);
    if (!way.parts) {
      expect([first.status, first.body.code]).toEqual([422, 'partial_refund_unsupported']);
      expect(await fixture.stored()).toEqual(stored);
      return;
    }
    // The same sum twice: two refunds, not one and its repeat.
    await fixture.ask('POST', `/v1/receipts/${receipt.id}/refunds`, part);
    await fixture.until(id, { status: 'refunded' });
    expect(await moneyOf(id)).toEqual({ captures: 1, refunded: PRICE });
  });

  it('keeps no money of a sale that the register refuses', async () => {
    fixture.register = 'rejects';
    const id = await pay();
    await fixture.until(id, { status: way.isHeld ? 'voided' : 'refunded', receipt: 'rejected' });
    const { captures, refunded } = await moneyOf(id);
    expect(refunded).toBe(way.isHeld ? 0 : captures * PRICE);
    expect(captures).toBe(way.isHeld ? 0 : 1);
  });

  it('has no receipt where the card was declined', async () => {
    if (way.showsDecline === false) return;
    await fixture.faults({ fault: 'decline', next: 1 });
    const id = await pay();
    // Some call what was declined cancelled.
    await until(
      `payment ${id} has ended without money`,
      () => fixture.read(id),
      ({ status, receipt }) => /^(declined|cancelled)$/.test(status) && receipt.status === 'cancelled',
    );
    expect(await moneyOf(id)).toEqual({ captures: 0, refunded: 0 });
  });

  it.each(strikesOf(name))(
    'takes the money once and registers once, though %s strikes again and again',
    async (fault) => {
      await fixture.faults({ fault, next: 3, delay_ms: fault === 'delay' ? LATE_MS : 300 });
      const id = await pay();
      await fixture.faults();
      await settleNextAction(id);
      const view = await until(
        `payment ${id} has found its end`,
        () => fixture.read(id),
        ({ status, receipt }) =>
          (status === 'captured' && receipt.status === 'registered') ||
          ['declined', 'voided', 'refunded', 'expired', 'manual'].includes(status) ||
          (fault.endsWith('_before') && status === way.unfindable),
        PATIENCE_MS,
      );
      const { captures, refunded } = await moneyOf(id);
      if (view.status === 'captured') expect({ captures, refunded }).toEqual({ captures: 1, refunded: 0 });
      else expect(captures * PRICE).toBe(refunded);
    },
  );
});
