// Promise: what stands below the turnover is what its rows come to, and nothing where they come to nothing that is so.
import type { Schema } from '../../api/api.js';
import { turnoverSums } from './turnover-sums.js';

const row = (key: string, total: number, cash: number | null): Schema<'TurnoverRow'> => ({
  key,
  sales: { count: 1, total, vat: 12, cash, card: cash === null ? null : total - cash },
  refunds: { count: 0, total: 2, vat: 0, cash: cash === null ? null : 2, card: cash === null ? null : 0 },
  net_total: total - 2,
  net_vat: 12,
});

const both = { sales: 300, refunds: 4, net: 296, netVat: 24 };

test('by day each receipt is in one row', () => {
  const rows = [row('2026-03-01', 100, 40), row('2026-03-02', 200, 0)];
  expect(turnoverSums(rows)).toEqual({ count: 2, cash: 40, card: 260, ...both });
});

test('by VAT rate a receipt of both rates is in both rows: their number is no number of receipts', () => {
  const rows = [row('0', 100, null), row('12', 200, null)];
  expect(turnoverSums(rows)).toEqual({ count: null, cash: null, card: null, ...both });
});
