// Promise: a receipt whose money may not be there any more never leaves for its register, however late or early the relay comes to it, and its hold is released.
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import type { PaymentView } from '../../apps/gateway/src/payments/payment-view.js';
import { sql } from './database.js';
import { documentsAtOfd } from './outside-world.js';
import { startPayments, type PaymentsRig } from './payments-rig.js';
import { until } from '../../libs/runtime/src/testing/until.js';

/** Some long too late, some with time enough, the rest about when the relay comes by. */
const RACING = 40;
const SURE = 5;

let rig: PaymentsRig;

beforeAll(async () => {
  rig = await startPayments({ simulatorPort: await freePorts(1) });
});

afterAll(() => rig?.stop());

/** Held, and its receipt in the lane; the relay sleeps. */
async function held(marker: string): Promise<PaymentView> {
  const { client } = rig.system;
  const body = client.saleOf(0, {
    items: [{ sku: 'sku-0', name: marker, price: 112_000, qty: 1 }],
    payment: { method: 'online', provider: 'multicard', token: 'token-0001' },
  });
  const answer = await client.post('/v1/payments', body, { prefer: 'wait=0' });
  const { id } = answer.body as unknown as PaymentView;
  // The answer waits for the hold unless another worker has the payment: then it is read again.
  return until(
    `${id} is held`,
    async () => (await client.get(`/v1/payments/${id}`)).body as unknown as PaymentView,
    ({ status, receipt }) => status === 'authorized' && receipt.status === 'accepted',
  );
}

interface Ended {
  id: string;
  state: string;
  receipt: string;
  attempts: number;
  holds_ms: number | null;
}

function ended(): Promise<Ended[]> {
  return until(
    'every payment has ended',
    () =>
      sql<Ended>(
        rig.system.database,
        `SELECT p.id, p.state::text AS state, r.status::text AS receipt,
                -- One whose turn came too late sends nothing and says so: that is in time, too.
                (SELECT count(*)::int FROM attempts a WHERE a.receipt_id = r.id AND a.state <> 'not_registered') AS attempts,
                (extract(epoch FROM p.hold_until - r.dispatch_before) * 1000)::int AS holds_ms
           FROM payments p JOIN receipts r ON r.id = p.receipt_id`,
      ),
    (rows) => rows.every(({ state }) => state === 'captured' || state === 'voided'),
    120_000,
  );
}

it('is sent in time or not at all', async () => {
  const relay = rig.system.relays[0];
  relay?.signal('SIGSTOP');
  const markers = new Map<string, string>();
  for (let nth = 0; nth < RACING + 2 * SURE; nth += 1) {
    const { id } = await held(`edge-${String(nth)}`);
    markers.set(id, `edge-${String(nth)}`);
  }
  const fresh = await sql<{ holds_ms: number }>(
    rig.system.database,
    `SELECT (extract(epoch FROM p.hold_until - r.dispatch_before) * 1000)::int AS holds_ms
       FROM payments p JOIN receipts r ON r.id = p.receipt_id`,
  );
  // Enough of the hold is left for the register's answer and for taking the money.
  expect(fresh.every(({ holds_ms }) => holds_ms === 120_000)).toBe(true);
  await sql(
    rig.system.database,
    `UPDATE receipts r SET dispatch_before = now() + CASE
            WHEN n.nth <= ${String(SURE)} THEN interval '-1 second'
            WHEN n.nth > ${String(RACING + SURE)} THEN interval '10 minutes'
            ELSE random() * interval '1500 milliseconds' END
       FROM (SELECT id, row_number() OVER (ORDER BY lane_place) AS nth FROM receipts) n WHERE n.id = r.id`,
  );
  relay?.signal('SIGCONT');
  const rows = await ended();
  const money = new Map((await rig.simulated()).map((payment) => [payment.our_ref, payment]));
  for (const { id, state, receipt, attempts } of rows) {
    const { captures, status } = money.get(id) ?? {};
    const isSent = state === 'captured';
    expect({ id, receipt, attempts: attempts > 0, captures, status }).toEqual(
      isSent
        ? { id, receipt: 'registered', attempts: true, captures: 1, status: 'captured' }
        : { id, receipt: 'cancelled', attempts: false, captures: 0, status: 'voided' },
    );
  }
  const sent = rows.filter(({ state }) => state === 'captured').map(({ id }) => markers.get(id));
  expect(sent.length).toBeGreaterThanOrEqual(SURE);
  expect(rows.length - sent.length).toBeGreaterThanOrEqual(SURE);
  const documents = await until(
    'the OFD holds all documents',
    () => documentsAtOfd(rig.system),
    (held) => held.length >= sent.length,
  );
  expect(documents.map(({ items }) => items[0]?.name).sort()).toEqual([...sent].sort());
});
