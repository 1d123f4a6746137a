import { randomBytes } from 'node:crypto';
import { paymeAuthorization } from '#payments';
import { startPayments, type PaymentsRig } from '../test/system/payments-rig.js';
import { freePorts } from '../test/system/program.js';
import type { Figure } from './report.js';
import { alternate, median, percentile } from './statistics.js';

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
    const inbound = await benchInbound(rig, size.transactions);
    return [
      { name: 'payments: p50 added to plain fiscalisation', value: p50(a) - p50(b), unit: 'ms', target: '≤ 15' },
      { name: 'payments: hold, receipt, capture, link, p50', value: p50(a), unit: 'ms' },
      { name: 'payments: inbound Payme transactions', value: inbound.perSecond, unit: '1/s', target: '≥ 500' },
      { name: 'payments: inbound Payme p99 of a call', value: inbound.p99Ms, unit: 'ms', target: '≤ 50' },
    ];
  } finally {
    await rig.stop();
  }
}

async function timed(count: number, sale: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let sold = 0; sold < count; sold += 1) {
    const begun = performance.now();
    await sale();
    times.push(performance.now() - begun);
  }
  return times;
}

async function payOnline(rig: PaymentsRig): Promise<void> {
  const view = await rig.pay({ provider: 'payme', token: 'token-0001' });
  if (view?.status !== 'captured') throw new Error(`payment is ${String(view?.status)}`);
}

async function sellPlainly({ system: { client } }: PaymentsRig): Promise<void> {
  const { status } = await client.post('/v1/receipts', client.saleOf(0));
  if (status !== 201) throw new Error(`gateway answered ${status}`);
}

/** Create and Perform of orders that wait; one transaction is both. */
async function benchInbound(rig: PaymentsRig, count: number): Promise<{ perSecond: number; p99Ms: number }> {
  const orders: { id: string; amount: number }[] = [];
  while (orders.length < count) {
    const view = await rig.pay({ provider: 'payme' });
    if (view) orders.push({ id: view.id, amount: view.amount });
  }
  const times: number[] = [];
  const call = async (method: string, params: unknown): Promise<void> => {
    const begun = performance.now();
    const headers = { 'content-type': 'text/json', authorization: paymeAuthorization('Paycom', 'key') };
    const body = JSON.stringify({ id: 1, method, params });
    const answer = await (await fetch(rig.paymeUrl, { method: 'POST', headers, body })).text();
    if (!answer.includes('"result"')) throw new Error(answer);
    times.push(performance.now() - begun);
  };
  const begun = performance.now();
  const worker = async (): Promise<void> => {
    for (let order = orders.pop(); order; order = orders.pop()) {
      const id = randomBytes(12).toString('hex');
      await call('CreateTransaction', { id, time: Date.now(), amount: order.amount, account: { order_id: order.id } });
      await call('PerformTransaction', { id });
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  return { perSecond: count / ((performance.now() - begun) / 1_000), p99Ms: percentile(times, 99) };
}
