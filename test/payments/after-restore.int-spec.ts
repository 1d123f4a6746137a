// Promise: after the database was put back from a copy, no money is asked for and none is given back a second time; what had not been is, once.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { until } from '../../libs/runtime/src/testing/until.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();

const PIECES = 4;
const WHOLE = PIECES * PRICE;
const CLICK = { provider: 'click', token: 'token-0001' };

async function asOwner(statements: string): Promise<void> {
  const owner = new pg.Client({ connectionString: fixture.gateway.database.ownerUrl });
  await owner.connect();
  try {
    await owner.query(statements);
  } finally {
    await owner.end();
  }
}

afterEach(() => asOwner('DELETE FROM database_identity'));

/** What is there now is older than the restore, as a relay has noted. */
const putBack = (): Promise<void> =>
  asOwner(`
    INSERT INTO database_identity (identity, changed_at, server_started) VALUES ('put back', now(), pg_postmaster_start_time())
    ON CONFLICT (id) DO UPDATE SET identity = excluded.identity, changed_at = excluded.changed_at, server_started = excluded.server_started`);

/** Four pieces, paid and registered, and a refund that waits in its lane. */
async function refunding(payment: Record<string, unknown>, pieces: number | null) {
  const sale = fixture.sale(payment);
  const [item] = sale['items'] as [Record<string, unknown>];
  const { body } = await fixture.ask('POST', '/v1/payments', { ...sale, items: [{ ...item, qty: PIECES }] });
  const sold = await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  fixture.register = 'sleeps';
  const asked = pieces === null ? {} : { lines: [{ line: 1, qty: pieces }] };
  const refund = await fixture.ask('POST', `/v1/receipts/${sold.receipt.id}/refunds`, asked, { prefer: 'wait=0' });
  expect(refund.status).toBe(202);
  return sold;
}

it.each([['multicard'], ['click']])(
  'a part that %s may have given back in the lost time is a person’s',
  async (provider) => {
    const { id } = await refunding({ provider, token: 'token-0001' }, 1);
    await fixture.atProvider(id, { refunded: PRICE });
    await putBack();
    fixture.register = 'registers';
    await fixture.until(id, { status: 'manual' });
    expect(await fixture.simulated(id)).toMatchObject([{ status: 'captured', refunds: 0, refunded: PRICE }]);
    const said = { outcome: 'part_refunded', reason: 'found in the cabinet' };
    expect((await fixture.ask('POST', `/v1/operator/payments/${id}/resolve`, said)).status).toBe(204);
    expect(await fixture.until(id, { status: 'captured' })).toMatchObject({ refunded: PRICE });
  },
);

it('one whose sum the provider shows is known to be back', async () => {
  const { id } = await refunding({ provider: 'uzum', token: 'binding-0001' }, 1);
  await fixture.atProvider(id, { refunded: PRICE });
  await putBack();
  fixture.register = 'registers';
  const back = () => fixture.read(id);
  await until('it is back', back, ({ status, refunded }) => status === 'captured' && refunded === PRICE);
  expect(await fixture.simulated(id)).toMatchObject([{ refunds: 0, refunded: PRICE }]);
});

it('money that did not go back goes back once', async () => {
  const { id } = await refunding(CLICK, null);
  await putBack();
  fixture.register = 'registers';
  await fixture.until(id, { status: 'refunded' });
  expect(await fixture.simulated(id)).toMatchObject([{ status: 'refunded', refunds: 1, refunded: WHOLE }]);
});

/** As the copy had it, a moment after it was accepted. */
async function asAccepted(id: string): Promise<void> {
  await asOwner(`
    ALTER TABLE payments DISABLE TRIGGER USER; ALTER TABLE receipts DISABLE TRIGGER USER;
    UPDATE receipts SET status = 'awaiting_payment', lane_place = NULL, terminal_id = NULL, receipt_seq = NULL, fiscal_sign = NULL,
           verification_url = NULL, registered_at = NULL, evidence = NULL, ofd_status = NULL WHERE payment_id = '${id}';
    DELETE FROM payment_calls WHERE payment_id = '${id}';
    UPDATE payments SET state = 'created', provider_ref = NULL, captured_at = NULL, state_since = now(), due_at = now() WHERE id = '${id}';
    ALTER TABLE payments ENABLE TRIGGER USER; ALTER TABLE receipts ENABLE TRIGGER USER`);
}

it('a card that was charged in the lost time is not charged again', async () => {
  const { body } = await fixture.pay(CLICK);
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  await putBack();
  await asAccepted(body.id);
  await fixture.until(body.id, { status: 'captured' });
  expect(await fixture.simulated(body.id)).toMatchObject([{ status: 'captured', captures: 1 }]);
});

it('one that was charged in the lost time does not end by its time', async () => {
  const { body } = await fixture.pay(CLICK);
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  await putBack();
  await asOwner(`UPDATE payments SET expires_at = now() - interval '1 minute' WHERE id = '${body.id}'`);
  await asAccepted(body.id);
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  expect(await fixture.simulated(body.id)).toMatchObject([{ status: 'captured', captures: 1, refunds: 0 }]);
});

it('until a relay has met the server, no money is asked for there: it may be a standby that lacks the last payments', async () => {
  const { body } = await fixture.pay(CLICK);
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  await asOwner(`UPDATE database_identity SET identity = 'the one before', server_started = now() - interval '1 day'`);
  await asAccepted(body.id);
  // Neither its time nor its customer ends what may have been paid.
  await asOwner(`UPDATE payments SET expires_at = now() - interval '1 minute' WHERE id = '${body.id}'`);
  expect((await fixture.ask('POST', `/v1/payments/${body.id}/cancel`, {})).body).toMatchObject({ status: 'created' });
  for (let readings = 0; readings < 10; readings += 1) {
    await delay(150);
    expect((await fixture.read(body.id)).status).toBe('created');
  }
  await asOwner(`UPDATE payments SET cancel_requested_at = NULL WHERE id = '${body.id}'`);
  await putBack();
  await fixture.until(body.id, { status: 'captured' });
  expect(await fixture.simulated(body.id)).toMatchObject([{ status: 'captured', captures: 1 }]);
});

/** Accepted, and its provider did not answer when the payment was to be made known there. */
async function unprepared(payment: Record<string, unknown>, path: string): Promise<string> {
  await fixture.faults({ fault: 'error_before', rate: 1, path });
  const { body } = await fixture.pay(payment, { prefer: 'wait=0' });
  await fixture.until(body.id, { status: 'created' });
  await putBack();
  await fixture.faults();
  return body.id;
}

it('one that its provider does not know is declined, and its receipt cancelled', async () => {
  const { body } = await fixture.pay(CLICK);
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  await fixture.atProvider(body.id, { forget: true });
  await putBack();
  await asAccepted(body.id);
  await fixture.until(body.id, { status: 'declined', receipt: 'cancelled' });
});

it('one that can neither be found nor be asked for anew without a second hold is declined', async () => {
  const id = await unprepared({ provider: 'multicard', token: 'token-0001' }, '/payment/hold');
  await fixture.until(id, { status: 'declined', receipt: 'cancelled' });
  expect(await fixture.simulated(id)).toEqual([]);
});

const RETURN_URL = 'https://shop.example/back';

it('a page of Octo that was paid in the lost time is found before a wish to cancel ends its payment', async () => {
  const { body } = await fixture.pay({ provider: 'octo', return_url: RETURN_URL });
  const { next_action: next } = await fixture.until(body.id, { status: 'pending' });
  await fixture.faults({ fault: 'error_before', rate: 1, path: '/octo/api' });
  await putBack();
  await asAccepted(body.id);
  await fixture.press((next as { url: string }).url);
  await fixture.ask('POST', `/v1/payments/${body.id}/cancel`, {});
  await fixture.faults();
  // It is held there: so it is released.
  await fixture.until(body.id, { status: 'voided', receipt: 'cancelled' });
  expect(await fixture.simulated(body.id)).toMatchObject([{ status: 'voided', captures: 0 }]);
});

it.each([
  ['octo', '/prepare_payment'],
  ['uzum', '/payment/register'],
  ['multicard', '/payment/invoice'],
])('a page of %s that was not made is made: only the customer can pay on it', async (provider, path) => {
  const id = await unprepared({ provider, return_url: RETURN_URL }, path);
  const { next_action: next } = await fixture.until(id, { status: 'pending' });
  await fixture.press((next as { url: string }).url);
  await fixture.until(id, { status: 'captured', receipt: 'registered' });
  expect(await fixture.simulated(id)).toMatchObject([{ captures: 1 }]);
});

it('a card of Stripe that was not charged is, under the key that names it', async () => {
  const id = await unprepared({ provider: 'stripe', token: 'pm_card_0001' }, '/v1/payment_intents');
  await fixture.until(id, { status: 'captured', receipt: 'registered' });
  expect(await fixture.simulated(id)).toMatchObject([{ captures: 1 }]);
});
