// Promise: a payment that its provider was not answered in time is not begun any more, as the provider may have heard since that there is none, and keeps no money.
import pg from 'pg';
import { until } from '../../libs/runtime/src/testing/until.js';
import {
  nextPaynetId,
  PAYNET_AUTHORIZATION,
  paynetCall,
  paynetPayment,
  paynetRequest,
} from './kit/pageless-callers.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

/** Shorter than a statement waits for a lock. */
const fixture = paymentsFixture({ PAYMENT_ANSWER_MS: 300 });

/** Its caller asks again. */
const SYSTEM_ERROR = -32603;
/** What a repeated call hears whose first one had its turn but was answered late. */
const EXISTS = 201;

async function ask(request: Record<string, unknown>): Promise<unknown> {
  const { body } = await paynetCall(fixture, request, PAYNET_AUTHORIZATION)();
  const answer = body as { result?: Record<string, unknown>; error?: { code: number } };
  return answer.error?.code ?? answer.result;
}

/** On a slow machine an answer may be late as well. */
const answered = (request: Record<string, unknown>): Promise<unknown> =>
  until(
    'it is answered',
    () => ask(request),
    (said) => said !== SYSTEM_ERROR,
  );

it('a call that was answered "not now" before its turn writes nothing; one that has its turn goes on to its end', async () => {
  const { id } = (await fixture.pay({ provider: 'paynet' })).body;
  const transaction = nextPaynetId();
  const pay = paynetPayment(id, { transactionId: transaction, amount: PRICE });
  const other = new pg.Client({ connectionString: fixture.gateway.database.ownerUrl });
  await other.connect();
  try {
    // Whatever keeps it from its turn: a pool without a free connection, a machine that stands still.
    await other.query(
      `SELECT pg_advisory_lock(hashtextextended(id || '/' || $1::text, 0)) FROM provider_accounts WHERE provider = 'paynet'`,
      [transaction],
    );
    expect(await ask(pay)).toBe(SYSTEM_ERROR);
    await other.query('SELECT pg_advisory_unlock_all()');
    // It comes after the call that waited.
    expect(await answered(paynetRequest('CheckTransaction', { transactionId: transaction }))).toMatchObject({
      transactionState: 3,
    });
    expect((await other.query('SELECT FROM provider_transactions WHERE id = $1', [String(transaction)])).rows).toEqual(
      [],
    );
  } finally {
    await other.end();
  }
  // Its money was not taken: it may try again.
  const again = nextPaynetId();
  const said = await answered(paynetPayment(id, { transactionId: again, amount: PRICE }));
  if (said !== EXISTS) expect(said).toMatchObject({ fields: {} });
  expect(await answered(paynetRequest('CheckTransaction', { transactionId: again }))).toMatchObject({
    transactionState: 1,
  });
  await fixture.until(id, { status: 'captured', receipt: 'registered' });
});
