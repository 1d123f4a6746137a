// Whatever a provider says differently from us is found, healed where only one thing can be right, and otherwise shown until a person has checked.
import { ComparePayments } from '../../apps/gateway/src/payments/compare-payments.js';
import type { PaymentFacts } from '../../apps/gateway/src/payments/payment.rows.js';
import { noteComparison } from '../../apps/gateway/src/payments/repository/payment-writes.js';
import { PaymentRepository } from '../../apps/gateway/src/payments/repository/payment.repository.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { CALLERS } from './kit/callers.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

// What is not answered in time is left alone for ten minutes: nothing here is late, on however slow a machine.
const fixture = paymentsFixture({ PAYMENT_CALL_TIMEOUT_MS: 30_000 });

const HOLD = { provider: 'multicard', token: 'token-0001' };
const CHARGE = { provider: 'click', token: 'token-0001' };

/** Everything that has ended, however lately: the state of the world, not the clock, decides here. */
async function compareAll(): Promise<void> {
  while ((await fixture.gateway.app.get(ComparePayments).compare(0)) > 0);
}

async function captured(payment: Record<string, unknown>): Promise<{ id: string; receiptId: string }> {
  const { body } = await fixture.pay(payment);
  expect(body).toMatchObject({ status: 'captured', receipt: { status: 'registered' } });
  await fixture.untilLinked(body.id, body.receipt.fiscal?.verification_url);
  return { id: body.id, receiptId: body.receipt.id };
}

it('finds nothing where both say the same, and asks once', async () => {
  const { id } = await captured(HOLD);
  await compareAll();
  expect(await fixture.disagreement(id)).toBeUndefined();
  await fixture.atProvider(id, { forget: true });
  await compareAll();
  expect(await fixture.disagreement(id)).toBeUndefined();
});

describe('money that is held', () => {
  const compareHeld = (): Promise<number> => fixture.gateway.app.get(ComparePayments).compareHeld(0);
  const STRIPE = { provider: 'stripe', token: 'pm_card_0001' };

  it('released by its provider without a word: the receipt is not made, nothing is captured', async () => {
    const { id } = (await fixture.pay({ ...STRIPE, capture: 'manual' })).body;
    await fixture.until(id, { status: 'authorized', receipt: 'awaiting_payment' });
    await fixture.atProvider(id, { status: 'voided' });
    expect(await compareHeld()).toBeGreaterThan(0);
    const view = await fixture.until(id, { status: 'voided', receipt: 'cancelled' });
    expect(view.reason).toBe('was authorized; stripe says voided');
    expect(await fixture.simulated(id)).toMatchObject([{ captures: 0 }]);
  });

  it('released while the receipt waits for its register: the receipt is cancelled', async () => {
    fixture.register = 'sleeps';
    const { id } = (await fixture.pay(STRIPE, { prefer: 'wait=0' })).body;
    await fixture.until(id, { status: 'authorized', receipt: 'accepted' });
    await fixture.atProvider(id, { status: 'voided' });
    await compareHeld();
    await fixture.until(id, { status: 'voided', receipt: 'cancelled' });
  });

  it('still held there: asked again only after a while, and captured as ever', async () => {
    const { id } = (await fixture.pay({ ...STRIPE, capture: 'manual' })).body;
    await fixture.until(id, { status: 'authorized' });
    await compareHeld();
    expect((await fixture.read(id)).status).toBe('authorized');
    expect(await fixture.gateway.app.get(ComparePayments).compareHeld(15)).toBe(0);
    await fixture.ask('POST', `/v1/payments/${id}/capture`);
    await fixture.until(id, { status: 'captured', receipt: 'registered' });
  });
});

describe('healed, because only one thing can be right', () => {
  it.each([
    ['hold', HOLD],
    ['invoice page', { provider: 'multicard' }],
  ])('refunded at the provider, taken here (%s): the receipt is refunded once', async (_name, payment) => {
    const { body } = await fixture.pay(payment);
    await fixture.payOnPage(body);
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
    await fixture.atProvider(body.id, { status: 'refunded' });
    await compareAll();
    const view = await fixture.until(body.id, { status: 'refunded' });
    expect(view).toMatchObject({ refunded: PRICE, reason: 'was captured; multicard says refunded' });
    await fixture.untilRefunded(body.receipt.id);
    await compareAll();
    expect(await fixture.refundsOf(body.receipt.id)).toHaveLength(1);
    expect(await fixture.simulated(body.id)).toMatchObject([{ captures: 1, refunds: 1 }]);
    expect(await fixture.disagreement(body.id)).toBeUndefined();
  });

  it('is notified by the provider itself before it would have compared', async () => {
    const { id, receiptId } = await captured(HOLD);
    await fixture.atProvider(id, { status: 'refunded' });
    await fixture.webhook(id);
    await fixture.until(id, { status: 'refunded' });
    await fixture.untilRefunded(receiptId);
  });

  it('taken there, unknown here: the money goes back', async () => {
    await fixture.faults({ fault: 'decline', next: 1 });
    const { body } = await fixture.pay(CHARGE);
    await fixture.until(body.id, { status: 'declined', receipt: 'cancelled' });
    await fixture.atProvider(body.id, { status: 'captured' });
    await compareAll();
    await fixture.until(body.id, { status: 'refunded', receipt: 'cancelled' });
    expect(await fixture.simulated(body.id)).toMatchObject([{ captures: 1, refunds: 1 }]);
    expect(await fixture.events(body.id)).toEqual(
      ['created', 'authorizing', 'declined', 'captured', 'refunding', 'refunded'].map((state) => `payment.${state}`),
    );
    await compareAll();
    expect(await fixture.disagreement(body.id)).toBeUndefined();
  });

  it('still held there, released here: it is released again', async () => {
    const { body } = await fixture.pay({ ...HOLD, capture: 'manual' });
    await fixture.ask('POST', `/v1/payments/${body.id}/cancel`);
    await fixture.until(body.id, { status: 'voided', receipt: 'cancelled' });
    await fixture.atProvider(body.id, { status: 'held' });
    await compareAll();
    await fixture.until(body.id, { status: 'voided', receipt: 'cancelled' });
    await until(
      'the hold is released',
      () => fixture.simulated(body.id),
      ([money]) => money?.status === 'voided',
    );
  });
});

/** A notification of the provider's about this payment, of whatever has happened there. */
async function hint(name: string, id: string): Promise<void> {
  const caller = CALLERS.find((each) => each.name === name);
  expect((await caller?.about(fixture, id, PRICE)())?.status).toBe(200);
}

/** Ended, and compared as a quarter of an hour later. */
async function compared(payment: Record<string, unknown>): Promise<string> {
  const { body } = await fixture.pay(payment);
  await fixture.payOnPage(body);
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  await until(
    `payment ${body.id} is compared`,
    async () => {
      await compareAll();
      return fixture.gateway.prisma.payment.findUniqueOrThrow({ where: { id: body.id } });
    },
    ({ comparedAt }) => comparedAt !== null,
  );
  return body.id;
}

describe('a hint after the comparison', () => {
  const STRIPE = { provider: 'stripe', token: 'pm_card_0001' };

  it('is lost for none of ten payments that were refunded there at the same moment', async () => {
    const ids: string[] = [];
    for (let nth = 0; nth < 10; nth += 1) ids.push(await compared({ provider: 'octo' }));
    for (const id of ids) await fixture.atProvider(id, { status: 'refunded' });
    await Promise.all(ids.map((id) => hint('octo', id)));
    await until(
      'all are refunded here',
      async () => {
        await compareAll();
        return Promise.all(ids.map(async (id) => (await fixture.read(id)).status));
      },
      (statuses) => statuses.every((status) => status === 'refunded'),
    );
  });

  it.each([
    ['of one that proves nothing of its caller', 'uzum checkout', { provider: 'uzum' }],
    ['of one that is signed', 'octo', { provider: 'octo' }],
  ])('is read though another came a moment before it: %s', async (_kind, name, payment) => {
    if (payment.provider === 'uzum') await fixture.choose('uzum', { page: 'checkout', pay_type: 'ONE_STEP' });
    const id = await compared(payment);
    await hint(name, id);
    await fixture.atProvider(id, { status: 'refunded' });
    await hint(name, id);
    await until(
      `payment ${id} is refunded here`,
      async () => {
        await compareAll();
        return fixture.read(id);
      },
      ({ status }) => status === 'refunded',
    );
  });

  it.each([
    ['a dispute', { disputed: true }, { ours: 'captured', provider: 'manual' }],
    ['a part that went back there', { refunded: 500 }, { ours: 'captured', provider: 'captured', refunded: 500 }],
  ])('shows %s', async (_name, edit, discrepancy) => {
    const id = await compared(STRIPE);
    expect(await fixture.disagreement(id)).toBeUndefined();
    await fixture.atProvider(id, edit);
    await hint('stripe', id);
    await untilShown(id, discrepancy);
  });

  it('that a turn to come covers is compared after that turn, whatever was read before it', async () => {
    const id = await compared(STRIPE);
    const { prisma } = fixture.gateway;
    await fixture.atProvider(id, { disputed: true });
    await prisma.$executeRaw`UPDATE payments SET compared_at = NULL, hinted_at = now() + interval '1 hour' WHERE id = ${id}`;
    const read = await fixture.gateway.app.get(PaymentRepository).readFacts(id);
    // A comparison that was under way when the turn was taken: another hint until the turn comes leaves no mark.
    await noteComparison(prisma, read as PaymentFacts, { discrepancy: null });
    await prisma.$executeRaw`UPDATE payments SET hinted_at = now() WHERE id = ${id}`;
    await untilShown(id, { ours: 'captured', provider: 'manual' });
  });

  it('shows a refund that failed later', async () => {
    const id = await compared(STRIPE);
    const { receipt } = await fixture.read(id);
    await fixture.ask('POST', `/v1/receipts/${receipt.id}/refunds`, {});
    await fixture.until(id, { status: 'refunded' });
    await compareAll();
    await fixture.atProvider(id, { status: 'captured', refunded: 0 });
    await hint('stripe', id);
    await untilShown(id, { ours: 'refunded', provider: 'captured' });
    expect(await fixture.simulated(id)).toMatchObject([{ refunds: 1 }]);
  });

  async function untilShown(id: string, discrepancy: object): Promise<void> {
    const found = await until(
      `the difference of ${id} is shown`,
      async () => {
        await compareAll();
        return fixture.disagreement(id);
      },
      (shown) => shown?.kind === 'provider_differs',
    );
    expect(found).toMatchObject({ discrepancy });
  }
});

describe('shown until a person has checked', () => {
  it.each([
    ['another sum there', HOLD, { amount: PRICE - 100 }, { provider: 'captured', amount: PRICE - 100 }],
    ['another sum given back there', HOLD, { status: 'refunded', amount: PRICE - 1 }, { provider: 'refunded' }],
    ['unknown there', HOLD, { forget: true }, { provider: 'not_found' }],
    ['unknown there', CHARGE, { forget: true }, { provider: 'not_found' }],
    ['failed there', CHARGE, { status: 'declined' }, { provider: 'declined' }],
    ['only held there', HOLD, { status: 'held' }, { provider: 'authorized' }],
  ])('%s', async (_name, payment, edit, difference) => {
    const { id, receiptId } = await captured(payment);
    const before = await fixture.simulated(id);
    await fixture.atProvider(id, edit);
    await compareAll();
    const found = await fixture.disagreement(id);
    expect(found).toMatchObject({
      ...{ kind: 'provider_differs', status: 'captured', receipt_status: 'registered', receipt_id: receiptId },
      ...{ amount: PRICE, discrepancy: { ours: 'captured', ...difference } },
      next_step: expect.stringMatching(/^operator: compare with the provider, then POST .*retry$/),
    });
    expect(found?.age_seconds).toBeGreaterThanOrEqual(0);
    expect((await fixture.simulated(id))[0]).toMatchObject({ captures: 1 });
    // The operator has it put right there, and has it compared again.
    await fixture.atProvider(id, { status: 'captured', amount: PRICE, forget: false });
    const reason = 'the provider has put it right';
    const again = await fixture.ask('POST', `/v1/operator/payments/${id}/retry`, { reason });
    expect(again.status).toBe(204);
    await compareAll();
    expect(await fixture.disagreement(id)).toBeUndefined();
    const trail = await fixture.gateway.audited(id);
    expect(trail.map(({ action, after }) => [action, after])).toContainEqual(['payment.retry', { reason }]);
    expect(await fixture.refundsOf(receiptId)).toEqual([]);
    expect(before).toHaveLength(1);
  });

  describe('a dispute', () => {
    const decide = (id: string, outcome: string): Promise<{ status: number }> =>
      fixture.ask('POST', `/v1/operator/payments/${id}/resolve`, { outcome, reason: 'the bank has decided' });

    async function disputed(): Promise<{ id: string; receiptId: string }> {
      const { body } = await fixture.pay({ provider: 'stripe', token: 'pm_card_0001' });
      await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
      expect((await decide(body.id, 'accepted')).status).toBe(409);
      expect((await decide(body.id, 'refunded')).status).toBe(409);
      await fixture.atProvider(body.id, { disputed: true });
      await untilDiffers(body.id);
      return { id: body.id, receiptId: body.receipt.id };
    }

    async function untilDiffers(id: string): Promise<void> {
      await until(
        `a difference of ${id} is shown`,
        async () => {
          await compareAll();
          return fixture.disagreement(id);
        },
        (shown) => shown?.kind === 'provider_differs',
      );
    }

    /** Compared once more, as after a hint. */
    async function compareAnew(id: string): Promise<void> {
      await fixture.gateway.prisma.$executeRaw`UPDATE payments SET compared_at = NULL WHERE id = ${id}`;
      await until(
        `${id} is compared`,
        async () => {
          await compareAll();
          return fixture.gateway.prisma.payment.findUniqueOrThrow({ where: { id } });
        },
        ({ comparedAt }) => comparedAt !== null,
      );
    }

    it('that was won is accepted: shown no more, until the provider says something else', async () => {
      const { id, receiptId } = await disputed();
      expect((await decide(id, 'accepted')).status).toBe(204);
      expect(await fixture.disagreement(id)).toBeUndefined();
      await compareAnew(id);
      expect(await fixture.disagreement(id)).toBeUndefined();
      expect(await fixture.read(id)).toMatchObject({ status: 'captured' });
      expect(await fixture.refundsOf(receiptId)).toEqual([]);
      expect(await fixture.gateway.audited(id)).toMatchObject([
        { before: { status: 'captured', discrepancy: { provider: 'manual' } }, after: { status: 'accepted' } },
      ]);
      await fixture.atProvider(id, { refunded: 500 });
      await compareAnew(id);
      expect(await fixture.disagreement(id)).toMatchObject({ discrepancy: { refunded: 500 } });
    });

    it('that was lost is refunded: the receipt follows once, nothing is sent back, and it is shown no more', async () => {
      const { id, receiptId } = await disputed();
      expect((await decide(id, 'captured')).status).toBe(422);
      expect((await decide(id, 'refunded')).status).toBe(204);
      await fixture.until(id, { status: 'refunded' });
      await fixture.untilRefunded(receiptId);
      await compareAnew(id);
      expect(await fixture.disagreement(id)).toBeUndefined();
      expect(await fixture.simulated(id)).toMatchObject([{ captures: 1, refunds: 0 }]);
    });

    it('that was accepted is shown again when a person asks for another comparison', async () => {
      const { id } = await disputed();
      await decide(id, 'accepted');
      const reason = 'it may have been decided anew';
      expect((await fixture.ask('POST', `/v1/operator/payments/${id}/retry`, { reason })).status).toBe(204);
      await untilDiffers(id);
    });
  });

  it('given back here, still taken there: nothing is sent back twice', async () => {
    const { id, receiptId } = await captured(CHARGE);
    await fixture.ask('POST', `/v1/receipts/${receiptId}/refunds`, {});
    await fixture.until(id, { status: 'refunded' });
    await fixture.atProvider(id, { status: 'captured' });
    await compareAll();
    expect(await fixture.disagreement(id)).toMatchObject({
      ...{ kind: 'provider_differs', status: 'refunded' },
      ...{ discrepancy: { ours: 'refunded', provider: 'captured' } },
    });
    expect(await fixture.simulated(id)).toMatchObject([{ refunds: 1 }]);
  });
});

it('leaves for half a minute what its provider does not answer, and goes on with the others', async () => {
  const { id } = await captured(HOLD);
  await fixture.atProvider(id, { forget: true });
  await fixture.faults({ fault: 'error_before', rate: 1 });
  await compareAll();
  expect(await fixture.disagreement(id)).toBeUndefined();
  const rows = await fixture.gateway.prisma.$queryRaw<{ compared_at: Date | null }[]>`
    SELECT compared_at FROM payments WHERE id = ${id}`;
  expect(rows).toEqual([{ compared_at: null }]);
  await fixture.faults();
  await until(
    'it is asked again',
    async () => {
      await compareAll();
      return fixture.disagreement(id);
    },
    (shown) => shown !== undefined,
  );
});

it('shows what a provider has not said anything of for a day, and goes on asking', async () => {
  const { id } = await captured(HOLD);
  await fixture.gateway.prisma.$executeRaw`
    UPDATE payments SET state_since = now() - interval '25 hours' WHERE id = ${id}`;
  await fixture.faults({ fault: 'error_before', rate: 1 });
  await compareAll();
  expect(await fixture.disagreement(id)).toMatchObject({ discrepancy: { ours: 'captured', provider: 'does not say' } });
  await fixture.faults();
  // Not again at once: others come first.
  await compareAll();
  const rows = await fixture.gateway.prisma.$queryRaw<{ compared_at: Date | null }[]>`
    SELECT compared_at FROM payments WHERE id = ${id}`;
  expect(rows).toEqual([{ compared_at: null }]);
});

it('compares anew what has moved since', async () => {
  const { id, receiptId } = await captured(CHARGE);
  await compareAll();
  await fixture.ask('POST', `/v1/receipts/${receiptId}/refunds`, {});
  await fixture.until(id, { status: 'refunded' });
  await fixture.atProvider(id, { status: 'captured' });
  await compareAll();
  expect(await fixture.disagreement(id)).toMatchObject({ kind: 'provider_differs' });
});

describe('Multicard’s own register beside ours', () => {
  async function invoiced(): Promise<string> {
    const { body } = await fixture.pay({ provider: 'multicard' });
    await fixture.payOnPage(body);
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
    await compareAll();
    return body.id;
  }

  it('is given nothing to register unless the account says that it is switched off', async () => {
    const id = await invoiced();
    expect(await fixture.simulated(id)).toMatchObject([{ documents: [] }]);
    expect(await fixture.disagreement(id)).toBeUndefined();
  });

  it('that sells all the same is shown: one sale, two documents', async () => {
    const path = `/v1/provider-accounts/${fixture.accountIds['multicard'] ?? ''}`;
    await fixture.ask('PATCH', path, { settings: { invoice_ofd: 'lines' } });
    const id = await invoiced();
    expect((await fixture.simulated(id))[0]?.documents).toHaveLength(1);
    expect(await fixture.disagreement(id)).toMatchObject({
      kind: 'provider_differs',
      discrepancy: { registered_by_provider_too: { terminalId: expect.any(String) } },
    });
    await fixture.ask('PATCH', path, { settings: { invoice_ofd: 'empty' } });
  });
});

it('a hold ends when Multicard says, not an hour after it was made', async () => {
  const path = `/v1/provider-accounts/${fixture.accountIds['multicard'] ?? ''}`;
  await fixture.ask('PATCH', path, { settings: { hold_minutes: '300' } });
  const { body } = await fixture.pay({ ...HOLD, capture: 'manual' });
  const view = await fixture.until(body.id, { status: 'authorized' });
  const minutes = (Date.parse(view.hold_until ?? '') - Date.parse(view.created_at)) / 60_000;
  expect(Math.round(minutes)).toBe(300);
  await fixture.ask('POST', `/v1/payments/${body.id}/cancel`);
  await fixture.until(body.id, { status: 'voided' });
});
