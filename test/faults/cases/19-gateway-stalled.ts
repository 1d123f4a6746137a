import { setTimeout as delay } from 'node:timers/promises';
import { sql } from '../../system/database.js';
import { GatewayClient } from '../../system/gateway-client.js';
import type { Program } from '../../system/program.js';
import { skipped, type CaseRun, type FaultCase } from '../frame/case.js';
import { Load } from '../frame/load.js';
import { sessionsOf } from '../frame/sessions.js';
import { judge } from '../frame/truth.js';

const SHOWN_WITHIN_S = 10;
/** For a machine that is busy with other things: what has no bound takes as long as the gateway stands still. */
const LIMIT_S = 60;
const TRIES = 2_000;

/** Stops the gateway at a moment at which one of its transactions has written something and is not at its end. */
async function stopWithinTransaction(run: CaseRun, gateway: Program): Promise<boolean> {
  for (let tried = 0; tried < TRIES; tried += 1) {
    gateway.signal('SIGSTOP');
    // What has been sent is carried out first.
    await delay(30);
    const open = await sql(
      run.stage.system.database,
      `SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'gateway' AND backend_xid IS NOT NULL
          AND state = 'idle in transaction' AND clock_timestamp() - state_change > interval '20 ms'`,
    );
    if (open.length > 0) return true;
    gateway.signal('SIGCONT');
    await delay(run.chance.between(1, 20));
  }
  return false;
}

/** Asks for refunds that are refused once the sale has been locked: transactions that write and take several statements. */
async function refundInVain(
  client: GatewayClient,
  receiptIds: readonly string[],
  stopping: AbortSignal,
): Promise<void> {
  const body = { lines: [{ line: 1, sum: 99_999_999_900 }] };
  while (!stopping.aborted) {
    for (const id of receiptIds) await client.post(`/v1/receipts/${id}/refunds`, body).catch(() => null);
  }
}

/** After how many seconds an event that is written now is shown by this gateway. */
async function secondsUntilShown(run: CaseRun, client: GatewayClient, name: string): Promise<number> {
  const { system } = run.stage;
  const [till] = system.merchant.tills;
  const { body } = await client.post(
    '/v1/receipts',
    {
      items: [{ sku: 'sku-0', name, price: 112_000, qty: 1 }],
      payment: { method: 'cash' },
      device_id: till?.deviceId,
      cashier_id: till?.cashierId,
    },
    { 'idempotency-key': name, prefer: 'respond-async' },
  );
  const beganMs = performance.now();
  for (let cursor = ''; ;) {
    const page = (await client.get(`/v1/events?limit=100${cursor}`)).body as unknown as EventsPage;
    const seconds = (performance.now() - beganMs) / 1_000;
    if (page.data?.some(({ data }) => data.receipt_id === body.id) || seconds > LIMIT_S) return seconds;
    if (page.next_cursor) cursor = `&cursor=${page.next_cursor}`;
    if (!page.has_more) await delay(50);
  }
}

interface EventsPage {
  data?: { data: { receipt_id?: string } }[];
  next_cursor?: string | null;
  has_more?: boolean;
}

export const gatewayStalled: FaultCase = {
  number: '19',
  name: 'SIGSTOP of a gateway within a transaction: events of all merchants go on at the other one',
  stage: 'line',
  full: { receipts: 500, strikes: 5 },
  tenth: { receipts: 50, strikes: 1 },
  maxSeconds: 900,
  async run(run) {
    const { system } = run.stage;
    if (sessionsOf(process.pid) === null) return skipped('needs the process list of Linux');
    const load = new Load(system.client, {
      prefix: run.prefix,
      chance: run.chance,
      total: run.size.receipts,
      asyncShare: 0,
    });
    await load.end();
    const receiptIds = load.sold.slice(0, 8).map(({ answer }) => answer.body.id ?? '');
    const [victimUrl = '', otherUrl = ''] = system.gatewayUrls;
    const [victim] = system.gateways;
    if (!victim) throw new Error('the stage has no gateway');
    const other = new GatewayClient([otherUrl], system.merchant);
    const failures: string[] = [];
    let slowestS = 0;
    for (let strike = 0; strike < run.size.strikes; strike += 1) {
      const stopping = new AbortController();
      const refunds = receiptIds.map((id) =>
        refundInVain(new GatewayClient([victimUrl], system.merchant), [id], stopping.signal),
      );
      try {
        if (!(await stopWithinTransaction(run, victim)))
          failures.push('the gateway was not stopped within a transaction');
        slowestS = Math.max(slowestS, await secondsUntilShown(run, other, `probe-${run.prefix}-${strike}`));
      } finally {
        stopping.abort();
        victim.signal('SIGCONT');
      }
      await Promise.all(refunds);
    }
    const verdict = await judge(system, [load], { prefix: run.prefix, tills: system.merchant.tills });
    if (slowestS > (run.judgesTimes ? SHOWN_WITHIN_S : LIMIT_S)) {
      failures.push(`an event was shown after ${slowestS.toFixed(1)} s, at most ${SHOWN_WITHIN_S}`);
    }
    const figures = [`events are shown after at most ${slowestS.toFixed(1)} s`];
    return { ...verdict, failures: [...verdict.failures, ...failures], kills: run.size.strikes, figures };
  },
};
