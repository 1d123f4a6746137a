// Promise: whatever is lost, repeated or killed on the way, nobody has paid without a receipt, or has a receipt without having paid; nothing is charged or registered twice.
import { setTimeout as delay } from 'node:timers/promises';
import type { PaymentView } from '../../apps/gateway/src/payments/payment-view.js';
import { sql } from './database.js';
import { documentsAtOfd, setFaults } from './outside-world.js';
import { startPayments, type PaymentsRig, type RigPayment } from './payments-rig.js';
import { freePorts } from './program.js';
import { until } from './until.js';

/** A tenth of the table's 2 000 payments per pattern and 30 kills. */
const PAYMENTS = 200;
const KILLS = 3;
const TILLS = 12;
const RATE = 0.01;

const PATTERNS = [
  ['A: hold, fiscalise, capture', { provider: 'payme', token: 'token-0001' }],
  ['B: charge, fiscalise', { provider: 'click', token: 'token-0001' }],
  ['C: asked within the call', { provider: 'multicard' }],
] as const;

interface Ended {
  id: string;
  state: string;
  receipt_status: string;
  refunded: string;
  refund_status: string | null;
}

let rig: PaymentsRig;

beforeAll(async () => {
  rig = await startPayments({
    ...{ gateways: 2, relays: 1, simulatorPort: await freePorts(1) },
    env: { PAYMENT_CALL_TIMEOUT_MS: '700' },
    profile: { sendTimeoutMs: 1_500, callTimeoutMs: 1_500, settleMs: 1_500, pacingMs: 0, sharing: 'exclusive' },
  });
}, 120_000);

afterAll(() => rig?.stop(), 60_000);

it('holds under every fault of provider and register and under kill -9 of gateway and relay', async () => {
  const provider = ['drop_before', 'drop_after', 'error_before', 'error_after', 'malformed', 'decline'];
  const own = ['duplicate', 'reorder', 'stale_webhook'];
  await rig.faults([
    ...[...provider, ...own].map((fault) => ({ fault, rate: RATE })),
    { fault: 'delay', rate: RATE, delay_ms: 900 },
  ]);
  await setFaults(
    rig.system,
    ['drop_request', 'drop_answer', 'error_after'].map((fault) => ({ fault, rate: RATE })),
  );
  const killing = killPrograms();
  const ids = (await Promise.all(PATTERNS.map(([, payment]) => sell(payment)))).map((one) => new Set(one));
  await killing;
  await rig.faults([]);
  await setFaults(rig.system, []);
  const ended = await until('every payment has ended', readAll, (rows) => rows.every(isEnded), 150_000);
  const money = await rig.simulated();
  const table = PATTERNS.map(([name], index) =>
    rowOf(
      name,
      ended.filter(({ id }) => ids[index]?.has(id)),
      money,
    ),
  );
  process.stdout.write(`${asTable(table)}\n`);
  for (const row of table)
    expect(row).toMatchObject({ payments: PAYMENTS, moneyWithoutReceipt: 0, receiptWithoutMoney: 0, doubleCharges: 0 });
  await expectNoDoubleReceipts();
}, 420_000);

/** Each sale under its own key, asked again until it is answered, as a careful shop does. */
async function sell(payment: Record<string, unknown>): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  const till = async (): Promise<void> => {
    while (next < PAYMENTS) {
      next += 1;
      const key = `${String(payment['provider'])}-${String(next)}`;
      const view = await payStubbornly(payment, key);
      ids.push(view.id);
      if (view.status === 'pending') await rig.press(view);
    }
  };
  await Promise.all(Array.from({ length: TILLS / PATTERNS.length }, till));
  return ids;
}

async function payStubbornly(payment: Record<string, unknown>, key: string): Promise<PaymentView> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const headers = { 'idempotency-key': key, prefer: 'wait=2' };
    // A gateway that was killed answers nothing: the same is asked again.
    const view = await rig.pay(payment, headers).catch((error: unknown) => {
      if (/fetch failed|terminated|no token/.test(String(error))) return null;
      throw error;
    });
    // An invoice that could not be made yet has no page.
    if (view && view.status !== 'created') return view;
    if (Date.now() > deadline) throw new Error(`no answer for ${key}`);
    await delay(200);
  }
}

async function killPrograms(): Promise<void> {
  const { gateways, relays } = rig.system;
  const programs = [gateways[0], relays[0], gateways[1]];
  for (let kill = 0; kill < KILLS; kill += 1) {
    await delay(4_000);
    const program = programs[kill % programs.length];
    await program?.end('SIGKILL');
    await program?.start();
  }
}

function readAll(): Promise<Ended[]> {
  return sql<Ended>(
    rig.system.database,
    `SELECT p.id, p.state::text AS state, r.status::text AS receipt_status, p.refunded_tiyin::text AS refunded,
            (SELECT min(b.status::text) FROM receipts b WHERE b.refund_of = r.id) AS refund_status
       FROM payments p JOIN receipts r ON r.id = p.receipt_id`,
  );
}

function isEnded({ state, receipt_status: receipt, refund_status: refund }: Ended): boolean {
  if (state === 'captured') return receipt === 'registered';
  const isOver = ['voided', 'refunded', 'declined', 'expired', 'cancelled'].includes(state);
  return (
    isOver &&
    (receipt === 'cancelled' || receipt === 'rejected' || (receipt === 'registered' && refund === 'registered'))
  );
}

function rowOf(pattern: string, rows: readonly Ended[], money: readonly RigPayment[]) {
  const taken = new Map<string, { captures: number; refunds: number; held: number }>();
  for (const { our_ref: id, captures, refunds, status } of money) {
    const sum = taken.get(id) ?? { captures: 0, refunds: 0, held: 0 };
    const held = sum.held + (status === 'held' || status === 'reserved' ? 1 : 0);
    taken.set(id, { captures: sum.captures + captures, refunds: sum.refunds + refunds, held });
  }
  const paid = (id: string): number => (taken.get(id)?.captures ?? 0) - (taken.get(id)?.refunds ?? 0);
  const hasReceipt = (row: Ended): boolean => row.receipt_status === 'registered' && row.refund_status === null;
  return {
    pattern,
    payments: rows.length,
    captured: rows.filter(({ state }) => state === 'captured').length,
    moneyWithoutReceipt: rows.filter((row) => paid(row.id) > 0 && !hasReceipt(row)).length,
    receiptWithoutMoney: rows.filter((row) => paid(row.id) <= 0 && hasReceipt(row)).length,
    doubleCharges: rows.filter(({ id }) => (taken.get(id)?.captures ?? 0) > 1).length,
    stillHeld: rows.filter(({ id }) => (taken.get(id)?.held ?? 0) > 0).length,
  };
}

function asTable(rows: readonly Record<string, unknown>[]): string {
  const head = Object.keys(rows[0] ?? {});
  const lines = [head, head.map(() => '---'), ...rows.map((row) => head.map((key) => String(row[key])))];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

/** What the OFD holds is what the ledger says, one document for each registration. */
async function expectNoDoubleReceipts(): Promise<void> {
  const [row] = await sql<{ registered: number }>(
    rig.system.database,
    `SELECT count(*)::int AS registered FROM receipts WHERE status = 'registered'`,
  );
  const documents = await until(
    'the OFD holds all documents',
    () => documentsAtOfd(rig.system),
    (held) => held.length >= (row?.registered ?? 0),
  );
  expect(documents).toHaveLength(row?.registered ?? -1);
}
