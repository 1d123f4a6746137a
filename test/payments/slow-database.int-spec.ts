// A provider is answered within two seconds even if the database is not, and what it hears when it asks again is what the first call did: once.
import { randomUUID } from 'node:crypto';
import { basicAuthorization } from '#payments';
import { sql } from '../system/database.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { anId, click, multicard, payme, verdictOf } from './provider-callers.js';
import { post } from './kit/callers.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture({ PAYMENT_ANSWER_MS: 1_800 });

/** Longer than may lie between an intent and its call (2 s), and shorter than a statement of a payment may take (3 s). */
const SLEEP_S = 2.2;

/** Every call is kept in the transaction that it changes something in: there the database sleeps until it is woken. */
async function asleep(): Promise<void> {
  await sql(
    fixture.gateway.database,
    `CREATE TABLE IF NOT EXISTS naps (); GRANT SELECT ON naps TO PUBLIC; INSERT INTO naps DEFAULT VALUES;
     CREATE OR REPLACE FUNCTION sleep_on() RETURNS trigger LANGUAGE plpgsql AS
       'BEGIN WHILE EXISTS (SELECT FROM naps) LOOP PERFORM pg_sleep(0.02); END LOOP; RETURN NEW; END';
     CREATE OR REPLACE TRIGGER sleep_on BEFORE INSERT ON provider_callbacks FOR EACH STATEMENT EXECUTE FUNCTION sleep_on()`,
  );
}

async function awake(): Promise<void> {
  await sql(fixture.gateway.database, 'CREATE TABLE IF NOT EXISTS naps (); DELETE FROM naps');
}

afterEach(() => awake());

async function count(table: string, where: string): Promise<number> {
  const rows = await sql<{ n: number }>(
    fixture.gateway.database,
    `SELECT count(*)::int AS n FROM ${table} WHERE ${where}`,
  );
  return rows[0]?.n ?? 0;
}

/** The answer came while the call was still at work: it had to be woken to come to its end. */
async function answeredBefore<T>(ask: () => Promise<T>, table: string, where: string): Promise<T> {
  await asleep();
  const answer = await ask();
  await awake();
  await until(
    'the late call has come to its end',
    () => count(table, where),
    (found) => found > 0,
  );
  return answer;
}

it('Payme is asked to repeat the call, and receives both times what was stored', async () => {
  const { body } = await fixture.pay({ provider: 'payme' });
  const id = anId();
  const params = { id, time: Date.now(), amount: PRICE, account: { order_id: body.id } };
  const late = await answeredBefore(
    () => payme(fixture, 'CreateTransaction', params),
    'provider_transactions',
    `id = '${id}'`,
  );
  expect(late.error).toMatchObject({ code: -32400, message: { ru: expect.any(String) } });
  const created = await payme(fixture, 'CreateTransaction', params);
  expect(created.result).toMatchObject({ state: 1, transaction: body.id });
  expect(await payme(fixture, 'CreateTransaction', params)).toEqual(created);

  const performedLate = await answeredBefore(
    () => payme(fixture, 'PerformTransaction', { id }),
    'provider_transactions',
    `id = '${id}' AND state = 2`,
  );
  expect(performedLate.error.code).toBe(-32400);
  const performed = await payme(fixture, 'PerformTransaction', { id });
  expect(verdictOf(performed)).toBe(2);
  expect(await payme(fixture, 'PerformTransaction', { id })).toEqual(performed);
  // The late call did the rest as well: no call had to ask for the receipt.
  await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  expect(await fixture.events(body.id)).toEqual(['pending', 'reserved', 'captured'].map((state) => `payment.${state}`));
  expect(await count('receipts', `payment_id = '${body.id}'`)).toBe(1);
});

it('Click is asked to repeat the call (-7), and then receives what was stored', async () => {
  const { body } = await fixture.pay({ provider: 'click' });
  const trans = { click_trans_id: String(Date.now()) };
  const late = await answeredBefore(
    () => click(fixture, body.id, trans),
    'payments',
    `id = '${body.id}' AND state = 'reserved'`,
  );
  expect(late).toMatchObject({ error: -7 });
  const prepared = await click(fixture, body.id, trans);
  expect(prepared).toMatchObject({ error: 0 });
  expect(await click(fixture, body.id, trans)).toEqual(prepared);
});

it('Multicard’s money stays frozen until it asks again', async () => {
  const { body } = await fixture.pay({ provider: 'multicard' });
  const [known] = await fixture.simulated(body.id);
  const asked = { uuid: known?.id ?? '', orderId: body.id };
  const late = await answeredBefore(
    () => multicard(fixture, asked),
    'payments',
    `id = '${body.id}' AND state = 'reserved'`,
  );
  expect(late).toEqual([500, false]);
  await fixture.until(body.id, { status: 'reserved', receipt: 'registered' });
  expect(await multicard(fixture, asked)).toEqual([200, true]);
});

it('a worker that slept between the intent and the call sends nothing, and charges once afterwards', async () => {
  await sql(
    fixture.gateway.database,
    `CREATE OR REPLACE FUNCTION fall_asleep() RETURNS trigger LANGUAGE plpgsql AS
       'BEGIN PERFORM pg_sleep(${SLEEP_S}); RETURN NEW; END';
     CREATE TRIGGER fall_asleep BEFORE INSERT ON payment_calls FOR EACH STATEMENT EXECUTE FUNCTION fall_asleep()`,
  );
  const paying = fixture.pay({ provider: 'click', token: 'token-0001' }, { prefer: 'wait=0' });
  try {
    await paying;
  } finally {
    await sql(fixture.gateway.database, 'DROP TRIGGER fall_asleep ON payment_calls');
  }
  const { id } = (await paying).body;
  await fixture.until(id, { status: 'captured', receipt: 'registered' });
  const calls = await sql<{ call: string; kind: string }>(
    fixture.gateway.database,
    `SELECT call, outcome ->> 'kind' AS kind FROM payment_calls WHERE payment_id = '${id}' ORDER BY id LIMIT 2`,
  );
  expect(calls[0]).toEqual({ call: 'authorize', kind: 'unsent' });
  expect(await fixture.simulated(id)).toMatchObject([{ captures: 1 }]);
});

it('an account that does not exist is unknown, and no database is to blame', async () => {
  const url = (fixture.accounts.payme?.url ?? '').replace(/pac_.*/, 'pac_01hzzzzzzzzzzzzzzzzzzzzzzz');
  const response = await fetch(url, { method: 'POST', body: '{}' });
  expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([404, 'not_found']);
});

it('Uzum is not answered FAILED to a confirmation that is late, and hears when it asks that it was done', async () => {
  await fixture.choose('uzum', { page: 'merchant' });
  const { body } = await fixture.pay({ provider: 'uzum' });
  const transId = randomUUID();
  const uzum = (operation: string, more: object) =>
    post(
      `${fixture.accounts.uzum?.url ?? ''}/${operation}`,
      { serviceId: 101_202, timestamp: Date.now(), transId, ...more },
      { authorization: basicAuthorization('uzum', fixture.accounts.uzum?.password ?? '') },
    )();
  expect((await uzum('create', { params: { order_id: body.id }, amount: PRICE })).status).toBe(200);
  const late = await answeredBefore(
    () => uzum('confirm', { paymentSource: 'UZCARD', phone: '998901234567' }),
    'provider_transactions',
    `id = '${transId}' AND state = 2`,
  );
  expect(late).toMatchObject({ status: 503, body: { transId, errorCode: '99999' } });
  expect(late.body).not.toHaveProperty('status');
  expect((await uzum('status', {})).body).toMatchObject({ status: 'CONFIRMED' });
});
