// Promise: a spreadsheet shows the turnover as the report has it: names of places in their letters, sums as numbers, nothing that runs.
import { turnoverCsv } from './turnover-csv.js';

const sums = (total: number, cash: number | null): Parameters<typeof turnoverCsv>[0]['data'][number]['sales'] => ({
  ...{ count: 1, total, vat: 12, cash, card: cash === null ? null : total - cash },
});

const row = { sales: sums(112, 100), refunds: sums(12, 0), net_total: 100, net_vat: 0 };
const period = { from: '2026-03-01', to: '2026-03-01', next_cursor: null };

test('Excel takes it for UTF-8, and a name is no formula', () => {
  const names = new Map([
    ['brn_1', 'Чиланзар, 5'],
    ['brn_2', '=1+1'],
  ]);
  const data = ['brn_1', 'brn_2'].map((key) => ({ ...row, key }));
  const [head, ...lines] = turnoverCsv({ by: 'branch', ...period, data }, names).split('\r\n');
  expect(head).toMatch(/^\uFEFFbranch,sales_count,sales_total,.*,net_total,net_vat,name$/);
  expect(lines).toEqual([
    'brn_1,1,112,12,100,12,1,12,12,0,12,100,0,"Чиланзар, 5"',
    "brn_2,1,112,12,100,12,1,12,12,0,12,100,0,'=1+1",
    '',
  ]);
});

test('by VAT rate no row says how it was paid', () => {
  const data = [{ ...row, key: '12', sales: sums(112, null), refunds: sums(0, null) }];
  const [, line] = turnoverCsv({ by: 'vat', ...period, data }, new Map()).split('\r\n');
  expect(line).toBe('12,1,112,12,,,1,0,12,,,100,0');
});
