import Fastify, { type FastifyInstance } from 'fastify';
import { somToTiyin } from '#payments';
import { NO_ACCOUNTS, type MerchantAccounts } from './accounts.js';
import { addAtmos } from './atmos.js';
import { addClickMerchant, ClickBook, ClickDriver } from './click.js';
import { Faults, readFaultRules, type FaultRule } from './faults.js';
import { Money, type SimMoneyEdit } from './money.js';
import { addMulticard, MulticardBook } from './multicard.js';
import { Merchant } from './merchant-call.js';
import { observeCalls, type Observe } from './observe.js';
import { html, invoicesPage, payPage, resultPage } from './pages.js';
import { addOcto } from './octo.js';
import { addPaynet } from './paynet.js';
import { addPaymeSubscribe, PaymeDriver, PaymeFiscal } from './payme.js';
import { addStripe } from './stripe.js';
import { addUzum } from './uzum.js';

export interface PaymentsSimulatorOptions {
  /** Where the providers call the merchant; may change while it runs. */
  accounts?: () => MerchantAccounts;
  random?: () => number;
  /** Shown every call of the providers' protocols, in both directions. */
  observe?: Observe;
}

/** Calls of a merchant's server, which faults may strike; pages and lists always answer. */
const API =
  /^\/(payme\/api|click\/v2\/|multicard\/payment|uzum\/(checkout|fastpay|ofd)\/|octo\/api|stripe\/v1|atmos\/(merchant|hold))/;

/**
 * The payment providers to test against, in one process and in memory: their APIs, the calls that they make to a merchant,
 * a page on which a person pays, and faults on demand.
 */
export function paymentsSimulator(options: PaymentsSimulatorOptions = {}): FastifyInstance {
  const { accounts = () => NO_ACCOUNTS, observe = () => undefined } = options;
  const server = Fastify({
    ...{ logger: false, keepAliveTimeout: 72_000, forceCloseConnections: true },
    routerOptions: { ignoreTrailingSlash: true },
  });
  const faults = new Faults(options.random);
  const money = new Money();
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, Object.fromEntries(new URLSearchParams(String(body))));
  });
  server.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
    done(null, typeof body === 'string' && body.startsWith('{') ? (JSON.parse(body) as unknown) : {});
  });
  const spoilt = strike(server, faults);
  observeCalls(server, observe, (request) => spoilt.has(request));
  const merchant = new Merchant(accounts, observe);
  const fiscal = new PaymeFiscal(merchant, money, faults);
  addPaymeSubscribe(server, { money, faults, fiscal });
  const clickBook = new ClickBook(money);
  addClickMerchant(server, { book: clickBook, faults, money });
  const cards = new MulticardBook(money, faults, merchant, () => addressOf(server));
  addMulticard(server, cards, faults);
  const parts = { money, faults, merchant, ownUrl: () => addressOf(server) };
  addUzum(server, parts);
  addOcto(server, parts);
  addAtmos(server, parts);
  addPaynet(server, parts);
  addStripe(server, parts);
  addPages(server, {
    payme: new PaymeDriver(merchant, money, faults, fiscal),
    ...{ clickBook, click: new ClickDriver(merchant, clickBook, faults), cards },
  });
  server.post('/faults', (request, reply) => {
    const rules = readFaultRules(request.body);
    if (typeof rules === 'string') return reply.code(400).send({ error: rules });
    faults.set(rules);
    return { rules: faults.show() };
  });
  server.get('/faults', () => ({ rules: faults.show(), open: faults.open, calls: merchant.open }));
  server.get('/payments', () => money.list());
  server.post('/payments/:id', (request, reply) => {
    const { id } = request.params as { id: string };
    return money.edit(id, request.body as SimMoneyEdit) ? money.list() : reply.code(404).send({ error: 'not found' });
  });
  server.get('/healthz', () => ({ status: 'ok' }));
  return server;
}

function addressOf(server: FastifyInstance): string {
  const address = server.server.address();
  return typeof address === 'object' && address ? `http://127.0.0.1:${String(address.port)}` : '';
}

const AROUND_A_CALL = ['delay', 'drop_before', 'drop_after', 'error_before', 'error_after', 'malformed'] as const;

/**
 * Faults around a call: before it nothing is done, after it the answer to what was done is lost.
 * @returns the calls that were answered with a failure of the simulator's
 */
function strike(server: FastifyInstance, faults: Faults): WeakSet<object> {
  const spoilt = new WeakSet<object>();
  const struck = new WeakMap<object, FaultRule>();
  const late = new WeakMap<object, () => void>();
  server.addHook('preHandler', async (request, reply) => {
    if (!API.test(request.routeOptions.url ?? '')) return;
    const rule = faults.draw(AROUND_A_CALL, request.url);
    if (!rule) return;
    if (rule.fault === 'delay') {
      // Until the answer, which the caller may not wait for.
      late.set(request, faults.begin());
      await new Promise((resolve) => setTimeout(resolve, rule.delay_ms ?? 1_000));
    } else if (rule.fault === 'drop_before') {
      request.raw.socket.destroy();
      reply.hijack();
    } else if (rule.fault === 'error_before') {
      spoilt.add(request);
      await reply.code(500).send({ error: 'simulated failure' });
    } else struck.set(request, rule);
  });
  server.addHook('onSend', (request, reply, payload, done) => {
    late.get(request)?.();
    const rule = struck.get(request);
    if (rule?.fault === 'drop_after') {
      request.raw.socket.destroy();
      done(null, payload);
    } else if (rule?.fault === 'malformed') done(null, '{"half": ');
    else if (rule?.fault === 'error_after') {
      void reply.code(500);
      done(null, '{"error":"simulated failure"}');
    } else done(null, payload);
  });
  return spoilt;
}

interface Drivers {
  payme: PaymeDriver;
  clickBook: ClickBook;
  click: ClickDriver;
  cards: MulticardBook;
}

function addPages(server: FastifyInstance, { payme, clickBook, click, cards }: Drivers): void {
  const provider = (name: string, order: string, amountTiyin: number, action: string): string =>
    payPage({ provider: name, order, amountTiyin, action });
  server.get('/payme/:link', (request, reply) => {
    const link = readPaymeLink((request.params as { link: string }).link);
    return html(reply, provider('Payme', link.account, link.amountTiyin, request.url));
  });
  server.post('/payme/:link', async (request, reply) => {
    const link = readPaymeLink((request.params as { link: string }).link);
    const { paid, result } = await payme.pay(link);
    return html(reply, resultPage(paid, result, link.returnUrl));
  });
  server.get('/click/pay', (request, reply) => {
    const order = readClickLink(request.query as Record<string, string>);
    return html(reply, provider('Click', order.ourRef, order.amountTiyin, request.url));
  });
  server.post('/click/pay', async (request, reply) => {
    const query = request.query as Record<string, string>;
    const { paid, result } = await click.pay(readClickLink(query));
    return html(reply, resultPage(paid, result, query['return_url'] ?? null));
  });
  // What a customer sees on the phone.
  server.get('/', (_request, reply) => html(reply, invoicesPage([...clickBook.invoices])));
  server.get('/click/invoice/:order', (request, reply) => {
    const { order } = request.params as { order: string };
    return html(reply, provider('Click', order, clickBook.invoices.get(order) ?? 0, request.url));
  });
  server.post('/click/invoice/:order', async (request, reply) => {
    const { order } = request.params as { order: string };
    const amountTiyin = clickBook.invoices.get(order);
    if (amountTiyin === undefined) return html(reply, resultPage(false, 'no such invoice', null));
    const { paid, result } = await click.pay({ ourRef: order, amountTiyin });
    if (paid) clickBook.invoices.delete(order);
    return html(reply, resultPage(paid, result, null));
  });
  server.get('/multicard/checkout/:id', (request, reply) => {
    const card = cards.find((request.params as { id: string }).id);
    if (!card) return reply.code(404).send('no such invoice');
    return html(reply, provider('Multicard', card.payment.ourRef, card.payment.amountTiyin, request.url));
  });
  server.post('/multicard/checkout/:id', async (request, reply) => {
    const { paid, result } = await cards.payInvoice((request.params as { id: string }).id);
    return html(reply, resultPage(paid, result, null));
  });
}

function readPaymeLink(link: string): { account: string; amountTiyin: number; returnUrl: string | null } {
  const pairs = Buffer.from(link, 'base64').toString('utf8').split(';');
  const at = (prefix: string): string | undefined =>
    pairs.find((pair) => pair.startsWith(prefix))?.replace(/^[^=]*=/, '');
  return { account: at('ac.') ?? '', amountTiyin: Number(at('a=') ?? 0), returnUrl: at('c=') ?? null };
}

function readClickLink(query: Record<string, string>): { ourRef: string; amountTiyin: number } {
  const amount = somToTiyin(query['amount'] ?? '');
  return { ourRef: query['transaction_param'] ?? '', amountTiyin: amount.kind === 'ok' ? amount.tiyin : 0 };
}
