// Promise: a row of a register counts as the form says, and a cell in which a cabinet writes that there is nothing is empty.
import type { RegisterColumns, RegisterForm } from './register-form.js';
import { findColumns } from './register-form.js';
import { readRow, type RowReading } from './register-rows.js';

const FORM: RegisterForm = {
  columns: {
    provider_ref: ['id of the payment (system)'],
    our_ref: ['order'],
    amount: ['sum'],
    commission: ['fee'],
    refunded: ['back'],
    time: ['time'],
    status: ['status'],
    cancelled: ['cancelled'],
  },
  amount_unit: 'som',
  refund_words: ['returned'],
  paid_words: ['paid', 'подтвержден'],
};
const HEAD = ['ID of the  Payment \n (system)', 'ORDER', 'Sum', 'fee', 'back', 'Time\u00a0', 'status', 'cancelled'];
const ROW = ['p1', 'o1', '1120', '11.20', '', '04-03-2026 12:30:00', 'Paid', ''];

const sheet = (cells: string[]) => ({ number: 8, cells, faults: [] });

function read(changed: Record<number, string>): RowReading {
  const columns = findColumns(sheet(HEAD), FORM, 6) as RegisterColumns;
  return readRow(sheet(ROW.map((cell, at) => changed[at] ?? cell)), columns, FORM);
}

it.each<[string, Record<number, string>, Record<string, unknown>]>([
  ['as it is', {}, { providerRef: 'p1', ourRef: 'o1', paidTiyin: 112_000, commissionTiyin: 1_120, day: '2026-03-04' }],
  ['without a commission, which is N/A', { 3: 'N/A' }, { commissionTiyin: null }],
  ['without a commission, which is a dash', { 3: ' - ' }, { commissionTiyin: null }],
  ['whose status has the dots of ё', { 6: 'Подтверждён' }, { paidTiyin: 112_000 }],
  ['with N/A for what went back', { 4: 'n/a' }, { refundedTiyin: 0 }],
  ['under one reference where the other is N/A', { 1: 'N/A' }, { providerRef: 'p1', ourRef: null }],
  ['with a dash for the time of cancelling', { 7: '—' }, { paidTiyin: 112_000 }],
  ['as money that went back', { 6: 'RETURNED', 7: '04-03-2026' }, { paidTiyin: 0, refundedTiyin: 112_000 }],
  ['with a sum below nothing', { 2: '-1120' }, { paidTiyin: 0, refundedTiyin: 112_000 }],
])('a row is read %s', (_name, changed, wanted) => {
  expect(read(changed)).toEqual({ kind: 'row', row: expect.objectContaining(wanted) });
});

it('headings without the column by which rows count are none', () => {
  const without = HEAD.filter((heading) => heading !== 'status');
  expect(findColumns(sheet(without), FORM, 6)).toBeNull();
  expect(findColumns(sheet(without), { ...FORM, paid_words: [] }, 6)).not.toBeNull();
});

it.each<[string, Record<number, string>]>([
  ['of another status', { 6: 'failed' }],
  ['whose status is N/A', { 6: 'N/A' }],
  ['that was cancelled after it was paid', { 7: '04-03-2026 12:31:00' }],
  ['whose references are both empty', { 0: 'N/A', 1: '-' }],
])('a row is left out %s', (_name, changed) => {
  expect(read(changed)).toEqual({ kind: 'left_out' });
});

it.each<[string, Record<number, string>]>([
  ['whose sum is N/A', { 2: 'N/A' }],
  ['whose time is N/A', { 5: 'N/A' }],
])('a row is for a person %s', (_name, changed) => {
  expect(read(changed)).toMatchObject({ kind: 'unreadable', number: 8 });
});
