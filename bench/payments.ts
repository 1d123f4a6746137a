import { randomBytes } from 'node:crypto';
import { request } from 'undici';
import { basicAuthorization } from '#payments';
import { freePorts } from '../libs/runtime/src/testing/free-ports.js';
import { startPayments, type PaymentsRig } from '../test/system/payments-rig.js';
import { processorTimeOf, type ProcessorTime } from './processor-time.js';
import type { Figure } from './report.js';
import { alternate, median, percentile, timed } from './statistics.js';

/** The saga's own cost per sale against a simulator that answers at once, and how many of Payme's calls one gateway takes. */
export async function benchPayments(size: { rounds: number; sales: number; transactions: number }): Promise<Figure[]> {
  const rig = await startPayments({ registers: 1, simulatorPort: await freePorts(1) });
  try {
    const paid = (): Promise<number[]> => timed(size.sales, () => payOnline(rig));
    const plain = (): Promise<number[]> => timed(size.sales, () => sellPlainly(rig));
    await paid();
    await plain();
    const { a, b } = await alternate(size.rounds, paid, plain);
    const p50 = (runs: number[][]): number => median(runs.map((run) => percentile(run, 50)));
    await benchInbound(rig, Math.ceil(size.transactions / 10));
    const inbound = await benchInbound(rig, size.transactions);
    const alone = await atRest(rig, () => benchInbound(rig, size.transactions));
    const spent = (spentBy: ProcessorTime, when: string): Figure[] =>
      Object.entries(spentBy).map(([name, seconds]) => ({
        name: `payments: processor time of a Payme transaction, ${name}${when}`,
        value: (seconds * 1_000) / size.transactions,
        unit: 'ms',
      }));
    return [
      { name: 'payments: p50 added to plain fiscalisation', value: p50(a) - p50(b), unit: 'ms', target: '≤ 15' },
      { name: 'payments: hold, receipt, capture, link, p50', value: p50(a), unit: 'ms' },
      { name: 'payments: inbound Payme transactions', value: inbound.perSecond, unit: '1/s', target: '≥ 500' },
      { name: 'payments: inbound Payme p99 of a call', value: inbound.p99Ms, unit: 'ms', target: '≤ 50' },
      { name: 'payments: inbound Payme transactions, lanes at rest', value: alone.perSecond, unit: '1/s' },
      { name: 'payments: inbound Payme p99 of a call, lanes at rest', value: alone.p99Ms, unit: 'ms' },
      ...spent(inbound.spent, ''),
      ...spent(alone.spent, ', lanes at rest'),
    ];
  } finally {
    await rig.stop();
  }
}

async function payOnline(rig: PaymentsRig): Promise<void> {
  const view = await rig.pay({ provider: 'payme', token: 'token-0001' });
  if (view?.status !== 'captured') throw new Error(`payment is ${String(view?.status)}`);
}

async function sellPlainly({ system: { client } }: PaymentsRig): Promise<void> {
  const { status } = await client.post('/v1/receipts', client.saleOf(0));
  if (status !== 201) throw new Error(`gateway answered ${status}`);
}

interface Order {
  id: string;
  amount: number;
}

const TILLS = 8;
/** Calls that Payme has under way at the same time. */
const CALLERS = 16;

interface Inbound {
  perSecond: number;
  p99Ms: number;
  /** In seconds, of the calls themselves: the orders were there before. */
  spent: ProcessorTime;
}

/** Check, Create and Perform of orders that wait: one transaction is all three. */
async function benchInbound(rig: PaymentsRig, count: number): Promise<Inbound> {
  const orders = await openOrders(rig, count);
  const times: number[] = [];
  const authorization = basicAuthorization('Paycom', 'key');
  const call = async (method: string, params: unknown): Promise<void> => {
    const begun = performance.now();
    const headers = { 'content-type': 'text/json', authorization };
    const body = JSON.stringify({ id: 1, method, params });
    // Not fetch: on the same two cores it would cost as much as what it asks for.
    const answer = await (await request(rig.paymeUrl, { method: 'POST', headers, body })).body.text();
    if (!answer.includes('"result"')) throw new Error(answer);
    times.push(performance.now() - begun);
  };
  const caller = async (): Promise<void> => {
    for (let order = orders.pop(); order; order = orders.pop()) {
      const id = randomBytes(12).toString('hex');
      const { amount } = order;
      const account = { order_id: order.id };
      await call('CheckPerformTransaction', { amount, account });
      await call('CreateTransaction', { id, time: Date.now(), amount, account });
      await call('PerformTransaction', { id });
    }
  };
  const { result: seconds, spent } = await processorTimeOf(rig.system, async () => {
    const begun = performance.now();
    await Promise.all(Array.from({ length: CALLERS }, caller));
    return (performance.now() - begun) / 1_000;
  });
  return { perSecond: count / seconds, p99Ms: percentile(times, 99), spent };
}

async function openOrders(rig: PaymentsRig, count: number): Promise<Order[]> {
  const orders: Order[] = [];
  let issued = 0;
  const till = async (): Promise<void> => {
    while (issued < count) {
      issued += 1;
      const view = await rig.pay({ provider: 'payme' });
      if (!view) throw new Error('an order was refused');
      orders.push({ id: view.id, amount: view.amount });
    }
  };
  await Promise.all(Array.from({ length: TILLS }, till));
  return orders;
}

/** The same with the relay asleep: what the calls alone cost, without the registers that work on the same machine. */
async function atRest<T>({ system }: PaymentsRig, work: () => Promise<T>): Promise<T> {
  for (const relay of system.relays) relay.signal('SIGSTOP');
  try {
    return await work();
  } finally {
    for (const relay of system.relays) relay.signal('SIGCONT');
  }
}
