// Payme is answered as its documentation wants: every row of its decision table, repeats equal to the first answer.
import type { InboundTransaction } from '../inbound.js';
import { decidePayme, PAYME_LIFETIME_MS, type PaymeFacts } from './payme-merchant.decision.js';
import { readPaymeRequest, type PaymeCommand } from './payme-merchant.wire.js';

const NOW = 1_800_000_000_000;
const fresh: InboundTransaction = {
  ...{ id: 'p'.repeat(24), timeMs: NOW - 1_000, amountTiyin: 500, ourRef: 'pay_1', state: 1 },
  ...{ createTimeMs: NOW - 900, performTimeMs: 0, cancelTimeMs: 0, reason: null },
};
const old = { ...fresh, timeMs: NOW - PAYME_LIFETIME_MS - 1 };
const paid = { ...fresh, state: 2, performTimeMs: NOW - 500 } as const;
const cancelled = { ...fresh, state: -1, cancelTimeMs: NOW - 400, reason: 3 } as const;
const reversed = { ...paid, state: -2, cancelTimeMs: NOW - 300, reason: 5 } as const;

const check: PaymeCommand = { method: 'CheckPerformTransaction', amountTiyin: 500, account: 'pay_1' };
const create = {
  method: 'CreateTransaction',
  id: fresh.id,
  timeMs: fresh.timeMs,
  amountTiyin: 500,
  account: 'pay_1',
} as const;
const perform: PaymeCommand = { method: 'PerformTransaction', id: fresh.id };
const cancel: PaymeCommand = { method: 'CancelTransaction', id: fresh.id, reason: 5 };
const report: PaymeCommand = { method: 'CheckTransaction', id: fresh.id };

function decide(command: PaymeCommand, more: Partial<PaymeFacts> = {}) {
  const order = { amountTiyin: 500, isPayable: true, isPaid: false, detail: null };
  const facts = {
    order,
    transaction: null,
    accountField: 'order_id',
    busyCheck: 'impossible' as const,
    isClosed: false,
    isDelivered: false,
    nowMs: NOW,
    ...more,
  };
  const decision = decidePayme(command as typeof create, facts);
  const { answer } = decision;
  return {
    change: decision.change?.kind ?? null,
    ...('error' in answer ? { code: answer.error.code } : answer.result),
  };
}

it.each([
  ['account unknown', check, { order: null }, { code: -31050 }],
  ['account unknown', create, { order: null }, { code: -31050 }],
  ['wrong amount', { ...check, amountTiyin: 501 }, {}, { code: -31001 }],
  ['wrong amount', { ...create, amountTiyin: 499 }, {}, { code: -31001 }],
  [
    'order paid',
    check,
    { order: { amountTiyin: 500, isPayable: false, isPaid: true, detail: null } },
    { code: -31051 },
  ],
  [
    'order paid',
    create,
    { order: { amountTiyin: 500, isPayable: false, isPaid: true, detail: null } },
    { code: -31008 },
  ],
  [
    'order busy',
    check,
    { order: { amountTiyin: 500, isPayable: false, isPaid: false, detail: null } },
    { code: -31008 },
  ],
  [
    'order busy',
    create,
    { order: { amountTiyin: 500, isPayable: false, isPaid: false, detail: null } },
    { code: -31008 },
  ],
  [
    'order busy, the account’s own way',
    check,
    { order: { amountTiyin: 500, isPayable: false, isPaid: false, detail: null }, busyCheck: 'account' as const },
    { code: -31050 },
  ],
  ['payable', check, {}, { change: null, allow: true }],
  [
    'payable, registered by Payme',
    check,
    { order: { amountTiyin: 500, isPayable: true, isPaid: false, detail: { receipt_type: 0 } } },
    { change: null, allow: true, detail: { receipt_type: 0 } },
  ],
  ['new', create, {}, { change: 'create', create_time: NOW, transaction: 'pay_1', state: 1 }],
  ['unknown id', perform, {}, { code: -31003 }],
  ['unknown id', cancel, {}, { code: -31003 }],
  ['unknown id', report, {}, { code: -31003 }],
  ['created', create, { transaction: fresh }, { change: null, create_time: fresh.createTimeMs, state: 1 }],
  ['created, repeated with another sum', { ...create, amountTiyin: 501 }, { transaction: fresh }, { code: -31001 }],
  ['created, repeated for another order', { ...create, account: 'pay_2' }, { transaction: fresh }, { code: -31050 }],
  ['created, repeated without an order', { ...create, account: null }, { transaction: fresh }, { code: -31050 }],
  ['created', perform, { transaction: fresh }, { change: 'perform', perform_time: NOW, state: 2 }],
  ['created, and the merchant has cancelled', perform, { transaction: fresh, isClosed: true }, { code: -31008 }],
  ['paid, and the merchant has cancelled', perform, { transaction: paid, isClosed: true }, { state: 2 }],
  ['created, and the merchant has cancelled', cancel, { transaction: fresh, isClosed: true }, { state: -1 }],
  ['created', cancel, { transaction: fresh }, { change: 'cancel', cancel_time: NOW, state: -1 }],
  ['created', report, { transaction: fresh }, { perform_time: 0, cancel_time: 0, state: 1, reason: null }],
  ['created and too old', create, { transaction: old }, { change: 'expire', code: -31008 }],
  ['created and too old', perform, { transaction: old }, { change: 'expire', code: -31008 }],
  ['created and too old', cancel, { transaction: old }, { change: 'cancel', state: -1 }],
  ['created and too old', report, { transaction: old }, { change: null, state: 1 }],
  ['paid', create, { transaction: paid }, { change: null, code: -31008 }],
  ['paid', perform, { transaction: paid }, { change: null, perform_time: paid.performTimeMs, state: 2 }],
  ['paid', cancel, { transaction: paid }, { change: 'cancel', cancel_time: NOW, state: -2 }],
  ['paid and delivered', cancel, { transaction: paid, isDelivered: true }, { change: null, code: -31007 }],
  ['paid', report, { transaction: paid }, { perform_time: paid.performTimeMs, state: 2 }],
  ['cancelled', create, { transaction: cancelled }, { code: -31008 }],
  ['cancelled', perform, { transaction: cancelled }, { code: -31008 }],
  ['cancelled', cancel, { transaction: cancelled }, { change: null, cancel_time: cancelled.cancelTimeMs, state: -1 }],
  ['cancelled', report, { transaction: cancelled }, { state: -1, reason: 3 }],
  ['reversed', perform, { transaction: reversed }, { code: -31008 }],
  ['reversed', cancel, { transaction: reversed }, { change: null, cancel_time: reversed.cancelTimeMs, state: -2 }],
  ['reversed', report, { transaction: reversed }, { state: -2, reason: 5 }],
])('%s: %o', (_name, command, facts, answer) => {
  expect(decide(command as PaymeCommand, facts)).toMatchObject(answer);
});

it('counts the 12 hours from the time in the request, to the millisecond', () => {
  const atLimit = { ...fresh, timeMs: NOW - PAYME_LIFETIME_MS, createTimeMs: NOW - 1 };
  expect(decide(perform, { transaction: atLimit })).toMatchObject({ change: 'perform' });
  const justOver = { ...atLimit, timeMs: atLimit.timeMs - 1 };
  expect(decide(perform, { transaction: justOver })).toMatchObject({ change: 'expire' });
  expect(decide({ ...create, timeMs: justOver.timeMs })).toMatchObject({ change: null, code: -31008 });
});

it.each([
  ['{', null, -32700],
  ['[]', null, -32600],
  ['{"id":7}', 7, -32600],
  ['{"id":7,"method":"Nonsense","params":{}}', 7, -32601],
  ['{"id":7,"method":"ChangePassword","params":{"password":"x"}}', 7, -32601],
  ['{"id":7,"method":"PerformTransaction"}', 7, -32600],
  ['{"id":7,"method":"PerformTransaction","params":{"id":""}}', 7, -32600],
  ['{"id":7,"method":"CreateTransaction","params":{"id":"a","time":1.5,"amount":1,"account":{}}}', 7, -32600],
  ['{"id":7,"method":"CheckPerformTransaction","params":{"amount":0,"account":{}}}', 7, -32600],
  ['{"id":7,"method":"GetStatement","params":{"from":2,"to":1}}', 7, -32600],
  ['{"id":7,"method":"SetFiscalData","params":{"id":"a","type":"X"}}', 7, -32602],
])('refuses %s', (body, id, code) => {
  expect(readPaymeRequest(body, 'order_id')).toMatchObject({ kind: 'fault', id, error: { code } });
});

it('reads an account value that came as a number', () => {
  const body = '{"id":1,"method":"CheckPerformTransaction","params":{"amount":5,"account":{"order_id":197}}}';
  expect(readPaymeRequest(body, 'order_id')).toMatchObject({ command: { account: '197' } });
});

it.each([
  ['id', { id: {} }],
  ['id', { type: 'PERFORM', fiscal_data: {} }],
  ['type', { id: 'a', type: 'X', fiscal_data: {} }],
  ['fiscal_data', { id: 'a', type: 'CANCEL', fiscal_data: [] }],
])('SetFiscalData says which parameter is wrong: %s', (name, params) => {
  const reading = readPaymeRequest(JSON.stringify({ id: 1, method: 'SetFiscalData', params }), 'order_id');
  expect(reading).toMatchObject({ error: { code: -32602, message: { en: `Wrong parameters: ${name}` }, data: name } });
});
