import type { FastifyInstance } from 'fastify';
import { html, payPage, resultPage } from './pages.js';
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
  const page = (order: string, amountTiyin: number, action: string): string =>
    payPage({ provider: 'Uzum', order, amountTiyin, action });
  server.get('/uzum/pay/:id', (request, reply) => {
    const order = book.find((request.params as { id: string }).id);
    if (!order) return reply.code(404).send('no such order');
    return html(reply, page(order.payment.ourRef, order.payment.amountTiyin, request.url));
  });
  server.post('/uzum/pay/:id', async (request, reply) => {
    const { paid, result } = await book.payOnPage((request.params as { id: string }).id);
    return html(reply, resultPage(paid, result, null));
  });
  const driver = new UzumMerchantDriver(parts.merchant, parts.money, parts.faults);
  server.get('/uzum/open-service', (request, reply) => {
    const order = readLink(request.query as Record<string, string>);
    return html(reply, page(order.ourRef, order.amountTiyin, request.url));
  });
  server.post('/uzum/open-service', async (request, reply) => {
    const query = request.query as Record<string, string>;
    const { paid, result } = await driver.pay(readLink(query));
    return html(reply, resultPage(paid, result, query['redirectUrl'] ?? null));
  });
  // What Uzum's support does for a customer.
  server.post('/uzum/reverse/:id', async (request) => driver.reverse((request.params as { id: string }).id));
}

function readLink(query: Record<string, string>): { ourRef: string; amountTiyin: number } {
  const known = ['serviceId', 'amount', 'redirectUrl'];
  const [, ourRef = ''] = Object.entries(query).find(([name]) => !known.includes(name)) ?? [];
  return { ourRef, amountTiyin: Number(query['amount'] ?? 0) };
}
