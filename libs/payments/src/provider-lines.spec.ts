// Promise: a line that a provider is to register is the line of the receipt: its name whole characters, its seller the one that is named.
import { thousandths, tiyin, type ReceiptLine } from '#fiscal-domain';
import { clickItems } from './click/click-ofd.js';
import { unsayable } from './fiscal.js';
import { multicardItems } from './multicard/multicard-ofd.js';
import { UzumOfdClient } from './uzum/uzum-ofd.client.js';
import { uzumCart } from './uzum/uzum-checkout.transform.js';
import type { PaymentRef } from './port.js';

const PINFL = '31234567890123';
const REF: PaymentRef = { ourRef: 'pay_1', providerRef: null, flow: 'charge', amountTiyin: 112, createdAtMs: 0 };

function lineOf(more: Partial<ReceiptLine>): ReceiptLine {
  return {
    ...{ line: 1, sku: null, name: 'Non', quantity: thousandths(1_000), priceTiyin: tiyin(112) },
    ...{ discountTiyin: tiyin(0), totalTiyin: tiyin(112), vatPercent: 12, vatTiyin: tiyin(12), spic: '0'.repeat(17) },
    ...{ packageCode: '1', units: 796, barcode: null, labels: [], commission: null, ...more },
  };
}

async function ofdItem(line: ReceiptLine): Promise<Record<string, unknown>> {
  let sent: unknown;
  const options = { apiUrl: 'https://o', apiKey: 'k', sellerTin: '300000000', priceOf: 'unit' } as const;
  const client = new UzumOfdClient(options, ({ body }) => {
    sent = body;
    return Promise.resolve({ kind: 'unsent', detail: '' });
  });
  await client.submitLines(REF, [line]);
  const { items } = sent as { items: [Record<string, unknown>] };
  return items[0];
}

it('a name is cut at a whole character', async () => {
  const line = lineOf({ name: `${'a'.repeat(62)}🍕` });
  const [click] = clickItems([line], { sellerTin: null, scale: 1 });
  expect(click).toMatchObject({ Name: 'a'.repeat(62) });
  expect(await ofdItem(line)).toMatchObject({ product_name: 'a'.repeat(62) });
});

it('null stands for what was not given, in documents that an earlier release has stored', async () => {
  const line = lineOf({ commission: { tin: null, pinfl: PINFL } as unknown as ReceiptLine['commission'] });
  const [click] = clickItems([line], { sellerTin: '300000000', scale: 1 });
  expect(click).toMatchObject({ CommissionInfo: { PINFL } });
  expect(await ofdItem(line)).toMatchObject({ commission_info: { PINFL } });
  expect(uzumCart('pay_1', [line], '300000000')).toMatchObject({ items: [{ receiptParams: { PINFL } }] });
  expect(unsayable(line, { fractions: true, discounts: true, commission: ['tin'] })).toMatchObject({
    field: 'commission',
  });
  const company = lineOf({ commission: { tin: '301234567', pinfl: null } as unknown as ReceiptLine['commission'] });
  expect(await ofdItem(company)).toMatchObject({ commission_info: { TIN: '301234567' } });
  expect(multicardItems([company], null)).toMatchObject([{ tin: '301234567' }]);
});
