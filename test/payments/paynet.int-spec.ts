// Paynet pays an order once, by one call, and takes it back with its receipt; a forged or mistaken call changes nothing.
import pg from 'pg';
import { basicAuthorization } from '#payments';
import { Metrics } from '#runtime';
import { parseRate } from '../../apps/gateway/src/http/rate.js';
import { until, untilTrue } from '../../libs/runtime/src/testing/until.js';
import { post } from './kit/callers.js';
import {
  nextPaynetId as nextId,
  PAYNET_AUTHORIZATION as AUTHORIZATION,
  paynetCall,
  paynetPayment,
  paynetRequest,
} from './kit/pageless-callers.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

/** So few that no machine is too slow to use them up. */
const fixture = paymentsFixture({ FAILED_LOGIN_LIMIT: parseRate('3/3600') });

/** Its caller asks again. */
const SYSTEM_ERROR = -32603;

const rpc = (method: string, params: object, authorization?: string) =>
  ask(paynetRequest(method, params), authorization);

async function ask(request: Record<string, unknown>, authorization = AUTHORIZATION) {
  const { status, body } = await paynetCall(fixture, request, authorization)();
  const answer = body as { result?: Record<string, unknown>; error?: { code: number } };
  if (answer.result) fixture.observe({ provider: 'paynet', request, status, answer });
  else fixture.observeRefusal({ provider: 'paynet', request, status, answer });
  return { status, said: answer.error?.code ?? answer.result };
}

const perform = (id: string, transactionId: number, amount = PRICE) =>
  ask(paynetPayment(id, { transactionId, amount }));
const check = (transactionId: number) => rpc('CheckTransaction', { transactionId });
const cancel = (transactionId: number) => rpc('CancelTransaction', { transactionId });
const opened = async (): Promise<string> => (await fixture.pay({ provider: 'paynet' })).body.id;

it('a customer at a terminal pays once, also when Paynet repeats its call', async () => {
  for (const fault of ['none', 'duplicate']) {
    const id = await opened();
    if (fault !== 'none') await fixture.faults({ fault, next: 1 });
    await fixture.press(`${fixture.simulatorUrl}/paynet/pay/${id}/${String(PRICE)}`);
    await fixture.until(id, { status: 'captured', receipt: 'registered' });
    expect(await fixture.simulated(id)).toMatchObject([{ captures: 1, refunds: 0 }]);
  }
});

it('answers repeats and mistakes with the codes of the list', async () => {
  const [id, transaction] = [await opened(), nextId()];
  expect((await rpc('GetInformation', { fields: { order_id: 'pay_none' } })).said).toBe(302);
  expect((await rpc('GetInformation', { fields: { order_id: id } })).said).toMatchObject({ status: '0' });
  expect((await perform(id, transaction, PRICE - 1)).said).toBe(413);
  expect((await check(transaction)).said).toMatchObject({ transactionState: 3 });
  expect((await perform(id, transaction)).said).toMatchObject({ fields: {} });
  expect((await perform(id, transaction)).said).toBe(201);
  expect((await perform(id, nextId())).said).toBe(501);
  expect((await check(transaction)).said).toMatchObject({ transactionState: 1 });
  expect((await cancel(nextId())).said).toBe(203);
  expect((await rpc('ChangePassword', { newPassword: 'x' })).said).toBe(-32601);
  expect((await rpc('GetInformation', { serviceId: 8, fields: { order_id: id } })).said).toBe(305);
  const day = { dateFrom: '2020-01-01 00:00:00', dateTo: '2099-01-01 00:00:00' };
  const { said } = await rpc('GetStatement', day);
  expect(said).toMatchObject({
    statements: expect.arrayContaining([expect.objectContaining({ transactionId: transaction })]),
  });
});

const BEING_WRITTEN = `
  SELECT FROM pg_locks WHERE relation = 'provider_transactions'::regclass AND mode = 'RowExclusiveLock' AND granted`;

it('does not say that there is none of a payment that is being written at that moment', async () => {
  const [id, transaction] = [await opened(), nextId()];
  const owner = new pg.Client({ connectionString: fixture.gateway.database.ownerUrl });
  await owner.connect();
  // Whatever makes a commit slow.
  await owner.query(`
    CREATE FUNCTION written_slowly() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1.5); RETURN NEW; END';
    CREATE TRIGGER written_slowly BEFORE INSERT ON provider_transactions FOR EACH ROW EXECUTE FUNCTION written_slowly()`);
  try {
    const paying = perform(id, transaction);
    await untilTrue(async () => (await owner.query(BEING_WRITTEN)).rows.length > 0, 'it is being written');
    const answered = await until(
      'Paynet knows',
      () => check(transaction),
      ({ said }) => said !== SYSTEM_ERROR,
    );
    expect(answered.said).toMatchObject({ transactionState: 1 });
    expect((await paying).said).toMatchObject({ fields: {} });
  } finally {
    await owner.query('DROP TRIGGER written_slowly ON provider_transactions; DROP FUNCTION written_slowly');
    await owner.end();
  }
});

it('two payments of one order at the same moment: one is taken', async () => {
  const id = await opened();
  // On a slow machine one waits too long for another, and is asked to come again.
  const answered = (transaction: number) =>
    until(
      'an answer',
      () => perform(id, transaction),
      ({ said }) => said !== SYSTEM_ERROR,
    );
  const answers = await Promise.all(Array.from({ length: 5 }, () => answered(nextId())));
  expect(answers.filter(({ said }) => said === 501)).toHaveLength(4);
});

it('money that Paynet gives back is followed by the receipt, once; what was delivered stays', async () => {
  const [id, transaction] = [await opened(), nextId()];
  await perform(id, transaction);
  const { receipt } = await fixture.until(id, { status: 'captured', receipt: 'registered' });
  await fixture.ask('POST', `/v1/payments/${id}/delivered`, { delivered: true });
  expect((await cancel(transaction)).said).toBe(77);
  await fixture.ask('POST', `/v1/payments/${id}/delivered`, { delivered: false });
  const answers = await Promise.all([cancel(transaction), cancel(transaction)]);
  expect(answers.filter(({ said }) => said === 202)).toHaveLength(1);
  await fixture.until(id, { status: 'refunded' });
  await fixture.untilRefunded(receipt.id);
  expect((await check(transaction)).said).toMatchObject({ transactionState: 2 });
});

it('a forged call changes nothing and is not kept', async () => {
  const id = await opened();
  await fixture.untilQuiet();
  const before = await fixture.kept(id);
  const forged = await ask(paynetPayment(id), basicAuthorization('paynet', 'wrong'));
  expect([forged.status, forged.said]).toEqual([401, 412]);
  expect((await fixture.read(id)).status).toBe('pending');
  expect(await fixture.kept(id)).toBe(before);
});

it('keeps ids of twenty digits apart, which numbers of JavaScript cannot', async () => {
  const call = (method: string, id: string, more: string) =>
    fetch(fixture.accounts.paynet?.url ?? '', {
      method: 'POST',
      headers: { authorization: AUTHORIZATION, 'content-type': 'application/json' },
      body: `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"serviceId":7,"transactionId":${id},${more}}}`,
    }).then((response) => response.text());
  const [one, other] = ['12345678901234567890', '12345678901234567891'];
  const id = await opened();
  const paid = `"amount":${String(PRICE)},"fields":{"order_id":"${id}"},"time":"2026-01-02 08:04:05"`;
  expect(await call('PerformTransaction', one, paid)).toContain('"providerTrnId"');
  expect(await call('CheckTransaction', one, '"x":0')).toContain('"transactionState":1');
  expect(await call('CheckTransaction', other, '"x":0')).toContain('"transactionState":3');
  const day = '"dateFrom":"2020-01-01 00:00:00","dateTo":"2099-01-01 00:00:00"';
  expect(await call('GetStatement', '0', day)).toContain(`"transactionId":${one},`);
});

it('a caller that goes on with wrong passwords is held back, and holds no other account back', async () => {
  const wrong = basicAuthorization('paynet', 'a-wrong-password-0001');
  for (let call = 0; call < 4; call += 1) expect((await rpc('CheckTransaction', {}, wrong)).said).toBe(412);
  // Also with the right one, from the same address.
  expect((await check(nextId())).said).toBe(412);
  const uzum = { serviceId: 101202, timestamp: Date.now(), params: { order_id: 'pay_none' } };
  const authorization = basicAuthorization('uzum', 'uzum-password-0001');
  const answer = await post(`${fixture.accounts.uzum?.url ?? ''}/check`, uzum, { authorization })();
  expect(answer.body).toMatchObject({ errorCode: '10007' });
});

it('a burst of wrong passwords is no larger than the limit, and the right one behind it is not answered for', async () => {
  const metrics = fixture.gateway.app.get(Metrics);
  const ended = async (): Promise<{ wrong: number; heldBack: number }> => {
    const lines = (await metrics.read()).text
      .split('\n')
      .filter((line) => line.startsWith('provider_inbound_calls_total{'));
    const of = (outcome: string): number =>
      Number(
        lines
          .find((line) => line.includes('provider="uzum"') && line.includes(`outcome="${outcome}"`))
          ?.split(' ')
          .pop() ?? 0,
      );
    return { wrong: of('wrong_key'), heldBack: of('held_back') };
  };
  const call = (password: string) => {
    const body = { serviceId: 101202, timestamp: Date.now(), params: { order_id: 'pay_none' } };
    return post(`${fixture.accounts.uzum?.url ?? ''}/check`, body, {
      authorization: basicAuthorization('uzum', password),
    })();
  };
  const before = await ended();
  await Promise.all(Array.from({ length: 20 }, (_, at) => call(`a-wrong-password-${String(at)}`)));
  // A call that took too long was answered already, and is counted when it has ended.
  const all = before.wrong + before.heldBack + 20;
  const after = await until('all calls have ended', ended, ({ wrong, heldBack }) => wrong + heldBack === all);
  expect(after.wrong - before.wrong).toBeGreaterThanOrEqual(1);
  expect(after.wrong - before.wrong).toBeLessThanOrEqual(3);
  expect((await call('uzum-password-0001')).body).not.toMatchObject({ errorCode: '10007' });
});
