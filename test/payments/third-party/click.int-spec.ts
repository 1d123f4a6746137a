// The scripts of Click's test program, which every shop has to pass before it goes live: in each call another click_trans_id, throughout
// one click_paydoc_id. Its order and codes are those of public ports of the program (docs/payments/providers.md, "Clients of others").
import { click } from '../provider-callers.js';
import { paymentsFixture } from '../payments-fixture.js';

const fixture = paymentsFixture();

type Fields = Record<string, string>;
type Script = readonly [what: string, call: 'prepare' | 'complete', given: Fields, expected: number];

const NOT_SIGNED = { sign_string: '10a250d95b1a6afedcda8360a12a1341' };
const FAILED = { error: '-5017' };

const PAID: readonly Script[] = [
  ['a wrong signature at Prepare', 'prepare', NOT_SIGNED, -1],
  ['Prepare', 'prepare', {}, 0],
  ['a wrong signature at Complete', 'complete', NOT_SIGNED, -1],
  ['a wrong sum at Complete', 'complete', { amount: '499' }, -2],
  ['Complete', 'complete', {}, 0],
  ['Complete of what is confirmed', 'complete', {}, -4],
  ['cancelling what is confirmed', 'complete', { error: '-1' }, -4],
];
const UNKNOWN: readonly Script[] = [
  ['Prepare', 'prepare', {}, 0],
  ['a number that no Prepare was answered with', 'complete', { merchant_prepare_id: '999999999' }, -6],
  ['Complete', 'complete', {}, 0],
];
const CANCELLED: readonly Script[] = [
  ['Prepare', 'prepare', {}, 0],
  ['cancelling', 'complete', FAILED, -9],
  ['cancelling once more', 'complete', FAILED, -9],
  ['Complete of what is cancelled', 'complete', {}, -9],
];

let lastNumber = Date.now();
const aNumber = (): string => String((lastNumber += 1));

async function play(paymentId: string, scripts: readonly Script[]): Promise<[string, unknown][]> {
  const click_paydoc_id = aNumber();
  const answers: [string, unknown][] = [];
  let prepareId = '';
  for (const [what, call, given] of scripts) {
    const action = call === 'prepare' ? '0' : '1';
    const fields = { click_paydoc_id, action, merchant_prepare_id: prepareId, click_trans_id: aNumber(), ...given };
    const answer = await click(fixture, paymentId, fields);
    if (call === 'prepare' && answer['error'] === 0) prepareId = String(answer['merchant_prepare_id']);
    answers.push([what, answer['error']]);
  }
  return answers;
}

const expectedOf = (scripts: readonly Script[]) => scripts.map(([what, , , expected]) => [what, expected]);

it.each([
  ['paid', PAID, 'captured', 'registered'],
  ['paid after a call about nothing', UNKNOWN, 'captured', 'registered'],
  ['cancelled', CANCELLED, 'pending', 'awaiting_payment'],
])('%s', async (_name, scripts, status, receipt) => {
  const { body } = await fixture.pay({ provider: 'click' });
  expect(await play(body.id, scripts)).toEqual(expectedOf(scripts));
  await fixture.until(body.id, { status, receipt });
  // One payment at Click, by whatever numbers its calls went: there is no second charge.
  expect((await fixture.read(body.id)).extra_charges).toEqual([]);
});

it('an order that does not exist', async () => {
  expect(await click(fixture, 'pay_unknown', { click_trans_id: aNumber() })).toMatchObject({ error: -5 });
});

it('a payment of another number is another one, also under the number of an attempt', async () => {
  const { body } = await fixture.pay({ provider: 'click' });
  const { merchant_prepare_id } = await click(fixture, body.id, {
    click_trans_id: aNumber(),
    click_paydoc_id: aNumber(),
  });
  const other = { click_trans_id: aNumber(), click_paydoc_id: aNumber(), action: '1' };
  const named = { ...other, merchant_prepare_id: String(merchant_prepare_id) };
  expect(await click(fixture, body.id, named)).toMatchObject({ error: -6 });
});
