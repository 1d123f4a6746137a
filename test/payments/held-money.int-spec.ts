// A customer's money does not stay held for lack of a request: once its receipt is registered, each pause before the next try is short, however often a try brought nothing.
import { LONGEST_HELD_PAUSE_MS, retryAfterMs } from '#payments';
import { sqlAgainstTheLaw } from '../system/database.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { multicard } from './provider-callers.js';
import { paymentsFixture } from './payments-fixture.js';

const fixture = paymentsFixture();

interface Tried {
  tries: number;
  failures: number;
  /** Before the next try; null while a worker has the payment. */
  pause_ms: number | null;
}

async function triedOf(id: string, call: string): Promise<Tried> {
  const [row] = await fixture.gateway.prisma.$queryRaw<Tried[]>`
    SELECT (SELECT count(*)::int4 FROM payment_calls c WHERE c.payment_id = p.id AND c.call = ${call}) AS tries, failures,
           CASE WHEN lease_id IS NULL THEN (extract(epoch FROM due_at - now()) * 1000)::float8 END AS pause_ms
      FROM payments p WHERE id = ${id}`;
  if (!row) throw new Error(`there is no payment ${id}`);
  return row;
}

/** The next try is made now, as if its pause were over. @returns the payment after it */
async function tryNow(id: string, call: string): Promise<Tried> {
  const { tries } = await triedOf(id, call);
  await fixture.gateway.prisma.$executeRaw`UPDATE payments SET due_at = now() WHERE id = ${id} AND lease_id IS NULL`;
  return until(
    `another ${call} of ${id}`,
    () => triedOf(id, call),
    (tried) => tried.tries > tries && tried.pause_ms !== null,
  );
}

/** Tried as often as a schedule has steps, and a few times more. @returns the longest pause that followed one of them */
async function longestPause(id: string, call: string): Promise<number> {
  let longestMs = 0;
  for (let nth = 0; nth < 12; nth += 1) {
    const { pause_ms: pauseMs } = await tryNow(id, call);
    longestMs = Math.max(longestMs, pauseMs ?? 0);
  }
  return longestMs;
}

/** An invoice whose customer took long: it was read again and again before the payment began. */
async function slowCustomer(): Promise<{ id: string; uuid: string; receiptId: string }> {
  const { body } = await fixture.pay({ provider: 'multicard' });
  for (let nth = 0; nth < 9; nth += 1) await tryNow(body.id, 'read_status');
  const [invoice] = await fixture.simulated(body.id);
  return { id: body.id, uuid: invoice?.id ?? '', receiptId: body.receipt.id };
}

it('an invoice that waited long for its customer is read again at once when its receipt is registered', async () => {
  fixture.register = 'sleeps';
  const { id, uuid, receiptId } = await slowCustomer();
  expect(await triedOf(id, 'read_status')).toMatchObject({ failures: 0 });
  await fixture.atProvider(id, { status: 'reserved' });
  expect(await multicard(fixture, { uuid, orderId: id })).toEqual([500, false]);
  const { tries } = await triedOf(id, 'read_status');
  // The provider has our verdict a moment after we have read its status: nothing but the next try finds that out.
  fixture.register = 'registers';
  const tried = await until(
    'the status is read after the registration',
    () => triedOf(id, 'read_status'),
    (now) => now.tries > tries && now.pause_ms !== null,
  );
  // What the customer's time took counts for nothing: the pauses begin anew.
  expect(tried.failures).toBeLessThanOrEqual(tried.tries - tries);
  expect(tried.pause_ms).toBeLessThanOrEqual(retryAfterMs('reserved', tried.failures - 1, () => 1));
  await fixture.atProvider(id, { status: 'captured' });
  await fixture.until(id, { status: 'captured', receipt: 'registered' });
  expect((await fixture.read(id)).receipt.id).toBe(receiptId);
});

it('while the provider keeps an invoice for itself, it is asked again and again with a short pause', async () => {
  const { body } = await fixture.pay({ provider: 'multicard' });
  const [invoice] = await fixture.simulated(body.id);
  await fixture.atProvider(body.id, { status: 'reserved' });
  await multicard(fixture, { uuid: invoice?.id ?? '', orderId: body.id });
  await fixture.until(body.id, { status: 'reserved', receipt: 'registered' });
  expect(await longestPause(body.id, 'read_status')).toBeLessThanOrEqual(LONGEST_HELD_PAUSE_MS);
});

it('while the provider answers no status of a capture, it is asked again and again with a short pause', async () => {
  fixture.register = 'sleeps';
  const { body } = await fixture.pay({ provider: 'multicard', token: 'token-0001' }, { prefer: 'wait=0' });
  await fixture.faults({ fault: 'error_before', rate: 1 });
  fixture.register = 'registers';
  await fixture.until(body.id, { status: 'capture_unknown', receipt: 'registered' });
  expect(await longestPause(body.id, 'read_status')).toBeLessThanOrEqual(LONGEST_HELD_PAUSE_MS);
  await fixture.faults();
  await fixture.gateway.prisma.$executeRaw`UPDATE payments SET due_at = now() WHERE id = ${body.id}`;
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
});

describe('a provider that froze the money and asks no more', () => {
  async function left(): Promise<{ id: string; receiptId: string }> {
    const { body } = await fixture.pay({ provider: 'multicard' });
    const [invoice] = await fixture.simulated(body.id);
    await fixture.atProvider(body.id, { status: 'reserved' });
    await multicard(fixture, { uuid: invoice?.id ?? '', orderId: body.id });
    await fixture.until(body.id, { status: 'reserved', receipt: 'registered' });
    return { id: body.id, receiptId: body.receipt.id };
  }

  it('is shown in the reconciliation two minutes after the registration, not before', async () => {
    const { id, receiptId } = await left();
    expect(await fixture.disagreement(id)).toBeUndefined();
    const { prisma } = fixture.gateway;
    await prisma.$executeRaw`UPDATE payments SET state_since = now() - interval '125 seconds' WHERE id = ${id}`;
    await sqlAgainstTheLaw(
      fixture.gateway.database,
      `UPDATE receipts SET registered_at = now() - interval '121 seconds' WHERE id = '${receiptId}'`,
    );
    expect(await fixture.disagreement(id)).toMatchObject({ kind: 'receipt_without_money', status: 'reserved' });
  });

  it.each([
    ['captured', { status: 'captured', receipt: 'registered' }, 0],
    ['voided', { status: 'voided', receipt: 'registered' }, 1],
  ])('is ended by what a person found out there: %s', async (outcome, end, refunds) => {
    const { id, receiptId } = await left();
    const said = { outcome, reason: 'asked Multicard' };
    const answer = await fixture.ask('POST', `/v1/operator/payments/${id}/resolve`, said);
    expect(answer.status).toBeLessThan(300);
    await fixture.until(id, end);
    if (refunds > 0) await fixture.untilRefunded(receiptId);
    expect(await fixture.refundsOf(receiptId)).toHaveLength(refunds);
  });

  it('is no business of a person while its receipt is on its way', async () => {
    fixture.register = 'sleeps';
    const { body } = await fixture.pay({ provider: 'multicard' });
    const [invoice] = await fixture.simulated(body.id);
    await fixture.atProvider(body.id, { status: 'reserved' });
    await multicard(fixture, { uuid: invoice?.id ?? '', orderId: body.id });
    const said = { outcome: 'captured', reason: 'too early' };
    const answer = await fixture.ask('POST', `/v1/operator/payments/${body.id}/resolve`, said);
    expect([answer.status, answer.body.code]).toEqual([409, 'payment_not_manual']);
  });
});
