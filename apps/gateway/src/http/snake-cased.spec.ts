// Promise: what a register answers is shown in the casing of this API, whatever its own is, and nothing is lost.
import { snakeCased } from './snake-cased.js';

test('keys at every depth, values untouched', () => {
  const answered = {
    Header: { TerminalID: 'UZ1' },
    TotalSaleVAT: 7,
    unsentZReports: [{ openedAt: 'A-B' }],
    own_key: null,
  };
  expect(snakeCased(answered)).toEqual({
    ...{ header: { terminal_id: 'UZ1' }, total_sale_vat: 7, unsent_z_reports: [{ opened_at: 'A-B' }], own_key: null },
  });
});
