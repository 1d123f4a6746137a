// Click is answered as its documentation wants, and a sum is confirmed once, however often Click reports it.
import { clickSignature } from './click.signature.js';
import { decideClick, type ClickAttempt, type ClickOrder } from './click-shop.decision.js';
import { clickAnswer, readClickRequest, type ClickCommand } from './click-shop.wire.js';

const ACCOUNT = { serviceId: '12345', secretKey: 'SECRET123' };

function form(more: Record<string, string> = {}): Map<string, string> {
  const fields: Record<string, string> = {
    ...{ click_trans_id: '3737503', service_id: '12345', click_paydoc_id: '99', merchant_trans_id: 'pay_1' },
    ...{ amount: '1000.00', action: '0', error: '0', error_note: 'Success', sign_time: '2026-08-22 14:03:11' },
    ...more,
  };
  const sign_string = clickSignature(
    {
      ...{ clickTransId: fields['click_trans_id'] ?? '', serviceId: fields['service_id'] ?? '' },
      ...{ merchantTransId: fields['merchant_trans_id'] ?? '', amount: fields['amount'] ?? '' },
      merchantPrepareId: fields['action'] === '1' ? (fields['merchant_prepare_id'] ?? '') : null,
      ...{ action: fields['action'] ?? '', signTime: fields['sign_time'] ?? '' },
    },
    ACCOUNT.secretKey,
  );
  return new Map(Object.entries({ sign_string, ...fields }));
}

function read(more: Record<string, string> = {}): ClickCommand {
  const reading = readClickRequest(form(more), ACCOUNT);
  if (reading.kind !== 'command') throw new Error(JSON.stringify(reading));
  return reading.command;
}

it.each(['1000', '1000.0', '1000.00'])('takes the amount %s, signed as it was written', (amount) => {
  expect(read({ amount }).amountTiyin).toBe(100_000);
});

it.each([
  ['a missing field', { amount: '' }, -8],
  ['a wrong signature', { sign_string: '0'.repeat(32) }, -1],
  ['another service', { service_id: '1' }, -1],
  ['an action that does not exist', { action: '2' }, -3],
  ['Complete without its prepare id', { action: '1' }, -8],
])('refuses %s', (_name, more, error) => {
  expect(readClickRequest(form(more as Record<string, string>), ACCOUNT)).toMatchObject({
    kind: 'fault',
    answer: { error },
  });
});

const open: ClickOrder = { amountTiyin: 100_000, state: 'open' };
const prepared: ClickOrder = { ...open, state: 'prepared' };
const paid: ClickOrder = { ...open, state: 'paid' };
const closed: ClickOrder = { ...open, state: 'closed' };
const attempt = (state: ClickAttempt['state']): ClickAttempt => ({ number: 778, state });
const done = { action: '1', merchant_prepare_id: '778' };

it.each([
  ['Prepare', {}, open, null, 0, 'prepare'],
  ['Prepare again', {}, prepared, attempt('prepared'), 0, null],
  ['Prepare by another attempt of the customer', {}, prepared, null, 0, 'prepare'],
  ['Prepare of nothing', {}, null, null, -5, null],
  ['Prepare of a paid order', {}, paid, null, -4, null],
  ['Prepare of a paid order by the attempt that paid', {}, paid, attempt('confirmed'), -4, null],
  ['Prepare of a closed order', {}, closed, null, -9, null],
  ['Prepare of a cancelled attempt', {}, open, attempt('cancelled'), -9, null],
  ['Prepare with another sum', { amount: '999.98' }, open, null, -2, null],
  ['Prepare that failed at Click', { error: '-5017' }, prepared, attempt('prepared'), -9, 'cancel'],
  ['Complete', done, prepared, attempt('prepared'), 0, 'confirm'],
  ['Complete after another attempt was cancelled', done, open, attempt('prepared'), 0, 'confirm'],
  ['Complete without Prepare', done, open, null, -6, null],
  [
    'Complete with a foreign prepare id',
    { ...done, merchant_prepare_id: '779' },
    prepared,
    attempt('prepared'),
    -6,
    null,
  ],
  ['Complete with another sum', { ...done, amount: '1.00' }, prepared, attempt('prepared'), -2, null],
  ['Complete that failed at Click', { ...done, error: '-5017' }, prepared, attempt('prepared'), -9, 'cancel'],
  ['Complete of a cancelled attempt', done, open, attempt('cancelled'), -9, null],
  ['Complete of a closed order', done, closed, attempt('prepared'), -9, null],
  ['Complete of the attempt whose money Click showed before', done, paid, attempt('paid'), 0, 'acknowledge'],
  ['Complete again', done, paid, attempt('confirmed'), -4, null],
  [
    'Complete that failed at Click, of the attempt that paid',
    { ...done, error: '-1' },
    paid,
    attempt('confirmed'),
    -4,
    null,
  ],
  ['Complete by another attempt after it was paid', done, paid, attempt('prepared'), -4, null],
  ['Complete by an attempt without Prepare after it was paid', done, paid, null, -4, null],
])('%s', (...[, more, order, known, error, change]) => {
  const facts = { order, attempt: known, repeatedComplete: -4 as const };
  expect(decideClick(read(more), facts)).toMatchObject({ error, change });
});

it('answers a repeated Complete of the attempt that paid with 0 where the account expects that, and no other one', () => {
  const facts = { order: paid, repeatedComplete: 0 as const };
  expect(decideClick(read(done), { ...facts, attempt: attempt('confirmed') }).error).toBe(0);
  expect(decideClick(read(done), { ...facts, attempt: attempt('prepared') }).error).toBe(-4);
  expect(decideClick(read(done), { ...facts, attempt: null }).error).toBe(-4);
});

it.each([
  ['another attempt on a paid order', done, paid, attempt('prepared'), true],
  ['an attempt without Prepare', done, paid, null, true],
  ['a repeat of the attempt that paid', done, paid, attempt('confirmed'), false],
  ['the first Complete of the attempt that paid', done, prepared, attempt('prepared'), false],
  ['another attempt that failed at Click', { ...done, error: '-1' }, paid, attempt('prepared'), false],
  ['a Prepare on a paid order', {}, paid, null, false],
])('a charge beyond the one that paid is noticed: %s', (...[, more, order, known, isExtraCharge]) => {
  const facts = { order, attempt: known, repeatedComplete: -4 as const };
  expect(decideClick(read(more), facts)).toMatchObject({ isExtraCharge });
});

it('answers with the attempt’s own number, every time the same', () => {
  expect(clickAnswer(read(), 0, 778)).toEqual({
    ...{
      click_trans_id: 3_737_503,
      merchant_trans_id: 'pay_1',
      merchant_prepare_id: 778,
      error: 0,
      error_note: 'Success',
    },
  });
  expect(clickAnswer(read(done), 0, 778)).toMatchObject({ merchant_confirm_id: 778 });
});
