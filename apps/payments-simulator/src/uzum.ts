import type { FastifyInstance, FastifyRequest } from 'fastify';
import { addPayPage, idIn } from './pages.js';
import { addUzumCheckout, UzumCheckoutBook } from './uzum-checkout.js';
import { addUzumFastPay } from './uzum-fastpay.js';
import { UzumMerchantDriver } from './uzum-merchant.js';
import { addUzumOfd } from './uzum-ofd.js';
import type { Parts } from './parts.js';

/** Uzum's four products, Checkout's page and the customer's app. */
export function addUzum(server: FastifyInstance, parts: Parts): void {
  const book = new UzumCheckoutBook(parts);
  addUzumCheckout(server, book);
  addUzumFastPay(server, parts);
  addUzumOfd(server, parts);
  addPayPage(server, '/uzum/pay/:id', {
    provider: 'Uzum',
    find: (request) => book.find(idIn(request))?.payment,
    pay: (request) => book.payOnPage(idIn(request)),
  });
  const driver = new UzumMerchantDriver(parts);
  addPayPage(server, '/uzum/open-service', {
    provider: 'Uzum',
    find: (request) => readLink(request),
    pay: (request) => driver.pay(readLink(request)),
    back: ({ query }) => (query as Record<string, string>)['redirectUrl'] ?? null,
  });
  // What Uzum's support does for a customer.
  server.post('/uzum/reverse/:id', async (request) => driver.reverse(idIn(request)));
}

function readLink(request: FastifyRequest): { ourRef: string; amountTiyin: number } {
  const query = request.query as Record<string, string>;
  const known = ['serviceId', 'amount', 'redirectUrl'];
  const [, ourRef = ''] = Object.entries(query).find(([name]) => !known.includes(name)) ?? [];
  return { ourRef, amountTiyin: Number(query['amount'] ?? 0) };
}
