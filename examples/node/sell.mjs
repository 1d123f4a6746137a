// A sale, its refund, and what to do with errors: node sell.mjs SALE-NUMBER
import { readFileSync } from 'node:fs';
import { ConnectionError, FiscalGateway, isSettled, ProblemError } from '@fiscal-gateway/sdk';

const { GATEWAY_URL = '', CLIENT_ID = '', CLIENT_SECRET = '', KEY_ID = '', SIGNING_KEY_FILE = '' } = process.env;
const { CASHIER_ID = '', PRODUCT_NAME = '' } = process.env;
const number = process.argv[2] ?? '';

// One client for the life of the program: it shares its token, repeats what was lost, and signs every attempt anew.
const fgw = new FiscalGateway({
  baseUrl: GATEWAY_URL,
  credentials: { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
  signing: { keyId: KEY_ID, privateKey: readFileSync(SIGNING_KEY_FILE, 'utf8') },
});

/** The number of the sale in the ERP is its key: after a crash the same call finds the same receipt. */
async function sell() {
  const sale = {
    items: [{ name: PRODUCT_NAME, price: 450_000, qty: 2 }],
    payment: /** @type {const} */ ({ method: 'cash' }),
    cashier_id: CASHIER_ID,
  };
  const receipt = await fgw.receipts.create(sale, { idempotencyKey: `sale-${number}`, waitS: 0 });
  return isSettled(receipt) ? receipt : fgw.receipts.waitUntilFinal(receipt.id);
}

/** @param {string} saleId */
async function refundOne(saleId) {
  const lines = [{ line: 1, qty: 1 }];
  const refund = await fgw.receipts.refund(saleId, { lines }, { idempotencyKey: `refund-${number}` });
  return isSettled(refund) ? refund : fgw.receipts.waitUntilFinal(refund.id);
}

/** A mistake of the caller's comes back with a place in the body for each fault. */
async function sellWrongly() {
  const wrong = {
    items: [{ name: PRODUCT_NAME, price: -1, qty: 1 }],
    payment: /** @type {const} */ ({ method: 'cash' }),
    cashier_id: CASHIER_ID,
  };
  await fgw.receipts.create(wrong, { idempotencyKey: `wrong-${number}` });
}

try {
  const receipt = await sell();
  switch (receipt.status) {
    case 'registered':
      console.log(`sale ${receipt.id} registered: ${receipt.fiscal.fiscal_sign} ${receipt.fiscal.verification_url}`);
      break;
    case 'rejected':
    case 'cancelled':
      throw new Error(`no document exists for sale ${receipt.id}: ${receipt.rejection?.detail ?? receipt.status}`);
    case 'unknown':
      // Do not sell it again: a person compares with the register and decides; a webhook says how.
      throw new Error(`sale ${receipt.id} is unknown`);
  }
  const refund = await refundOne(receipt.id);
  console.log(`refund ${refund.id} ${refund.status}`);
  await sellWrongly();
} catch (error) {
  if (error instanceof ProblemError) {
    console.log(`refused: ${error.status} ${error.code}`);
    for (const { pointer, code, detail } of error.faults) console.log(`  ${pointer} ${code}: ${detail}`);
  } else if (error instanceof ConnectionError) {
    // It may have been sold. Keep the number, and run this again with it later.
    console.error(`no answer: ${error.message}`);
    process.exitCode = 2;
  } else {
    throw error;
  }
}
