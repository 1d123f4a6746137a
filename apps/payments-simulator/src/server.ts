import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { somToTiyin } from '#payments';
import { NO_ACCOUNTS, type MerchantAccounts } from './accounts.js';
import { addAtmos } from './atmos.js';
import { addClickMerchant, ClickBook, ClickDriver } from './click.js';
import { Faults, readFaultRules, type FaultRule } from './faults.js';
import { Money, type SimMoneyEdit } from './money.js';
import { addMulticard, MulticardBook } from './multicard.js';
import { Merchant } from './merchant-call.js';
import { observeCalls, type Observe } from './observe.js';
import { addPayPage, html, idIn, invoicesPage } from './pages.js';
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
  const parts = { money, faults, merchant, ownUrl: () => addressOf(server) };
  const fiscal = new PaymeFiscal(parts);
  addPaymeSubscribe(server, parts, fiscal);
  const clickBook = new ClickBook(money);
  addClickMerchant(server, { book: clickBook, faults, money });
  const cards = new MulticardBook(parts);
  addMulticard(server, cards, faults);
  addUzum(server, parts);
  addOcto(server, parts);
  addAtmos(server, parts);
  addPaynet(server, parts);
  addStripe(server, parts);
  addPages(server, {
    payme: new PaymeDriver(parts, fiscal),
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
    return money.edit(idIn(request), request.body as SimMoneyEdit)
      ? money.list()
      : reply.code(404).send({ error: 'not found' });
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
  addPayPage(server, '/payme/:id', {
    provider: 'Payme',
    find: (request) => readPaymeLink(request),
    pay: (request) => payme.pay(readPaymeLink(request)),
    back: (request) => readPaymeLink(request).returnUrl,
  });
  addPayPage(server, '/click/pay', {
    provider: 'Click',
    find: (request) => readClickLink(request),
    pay: (request) => click.pay(readClickLink(request)),
    back: (request) => readClickLink(request).returnUrl,
  });
  // What a customer sees on the phone.
  server.get('/', (_request, reply) => html(reply, invoicesPage([...clickBook.invoices])));
  const invoiceOf = (request: FastifyRequest): { ourRef: string; amountTiyin: number } | undefined => {
    const amountTiyin = clickBook.invoices.get(idIn(request));
    return amountTiyin === undefined ? undefined : { ourRef: idIn(request), amountTiyin };
  };
  addPayPage(server, '/click/invoice/:id', {
    provider: 'Click',
    find: invoiceOf,
    pay: async (request) => {
      const invoice = invoiceOf(request);
      if (!invoice) return { paid: false, result: 'no such invoice' };
      const done = await click.pay(invoice);
      if (done.paid) clickBook.invoices.delete(invoice.ourRef);
      return done;
    },
  });
  addPayPage(server, '/multicard/checkout/:id', {
    provider: 'Multicard',
    find: (request) => cards.find(idIn(request))?.payment,
    pay: (request) => cards.payInvoice(idIn(request)),
  });
}

interface Link {
  ourRef: string;
  amountTiyin: number;
  returnUrl: string | null;
}

function readPaymeLink(request: FastifyRequest): Link {
  const pairs = Buffer.from(idIn(request), 'base64').toString('utf8').split(';');
  const at = (prefix: string): string | undefined =>
    pairs.find((pair) => pair.startsWith(prefix))?.replace(/^[^=]*=/, '');
  return { ourRef: at('ac.') ?? '', amountTiyin: Number(at('a=') ?? 0), returnUrl: at('c=') ?? null };
}

function readClickLink(request: FastifyRequest): Link {
  const query = request.query as Record<string, string>;
  const amount = somToTiyin(query['amount'] ?? '');
  const amountTiyin = amount.kind === 'ok' ? amount.tiyin : 0;
  return { ourRef: query['transaction_param'] ?? '', amountTiyin, returnUrl: query['return_url'] ?? null };
}
