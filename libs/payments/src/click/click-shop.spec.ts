// Click is answered as its documentation wants, and a sum is confirmed once, however often it is told.
import { clickSignature } from './click.signature.js';
import { decideClick, type ClickOrder } from './click-shop.decision.js';
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

const open: ClickOrder = { number: 778, amountTiyin: 100_000, state: 'open', isThisOne: false };
const prepared: ClickOrder = { ...open, state: 'prepared', isThisOne: true };
const done = { action: '1', merchant_prepare_id: '778' };

it.each([
  ['Prepare', {}, open, 0, 'prepare'],
  ['Prepare again', {}, prepared, 0, null],
  ['Prepare by another try of the customer', {}, { ...prepared, isThisOne: false }, 0, 'prepare'],
  ['Prepare of nothing', {}, null, -5, null],
  ['Prepare of a paid order', {}, { ...prepared, state: 'paid' }, -4, null],
  ['Prepare of a closed order', {}, { ...open, state: 'closed' }, -9, null],
  ['Prepare with another sum', { amount: '999.98' }, open, -2, null],
  ['Prepare that failed at Click', { error: '-5017' }, prepared, -9, 'cancel'],
  ['Complete', done, prepared, 0, 'confirm'],
  ['Complete again', done, { ...prepared, state: 'paid' }, 0, null],
  ['Complete by another try after it was paid', done, { ...prepared, state: 'paid', isThisOne: false }, -4, null],
  ['Complete without Prepare', done, open, -6, null],
  ['Complete with a foreign prepare id', { ...done, merchant_prepare_id: '779' }, prepared, -6, null],
  ['Complete with another sum', { ...done, amount: '1.00' }, prepared, -2, null],
  ['Complete that failed at Click', { ...done, error: '-5017' }, prepared, -9, 'cancel'],
  ['Complete of a cancelled order', done, { ...prepared, state: 'closed' }, -9, null],
])('%s', (...[, more, order, error, change]) => {
  expect(decideClick(read(more as Record<string, string>), order as ClickOrder | null)).toEqual({ error, change });
});

it('answers with the payment’s own number, every time the same', () => {
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
