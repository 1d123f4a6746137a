// Promise: old deliveries do not pile up for ever, and what is still to be sent is never cleared away with them.
import { newId } from '#runtime';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { ClearDeliveries } from './clear-deliveries.js';
import { DeliveryLoop } from './delivery-loop.js';

let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await OperatorFixture.start({ WEBHOOK_KEEP_DAYS: 7 });
  // The gateway's own round would clear rows that are still being written, and take a share of the batches.
  await fixture.app.get(DeliveryLoop, { strict: false }).beforeApplicationShutdown();
});
afterAll(() => fixture.stop());

async function endpoint(more: { deletedDaysAgo?: number; disabled?: boolean } = {}): Promise<string> {
  const id = newId('whk');
  const deletedAt = more.deletedDaysAgo === undefined ? null : daysAgo(more.deletedDaysAgo);
  const data = { id, merchantId: fixture.merchantId, url: 'http://127.0.0.1:9/', events: ['none.none'], deletedAt };
  // Not due: nothing of this test is to be sent.
  await fixture.prisma.webhookEndpoint.create({
    data: { ...data, dueAt: null, disabledAt: more.disabled ? new Date() : null },
  });
  return id;
}

function daysAgo(days: number): Date {
  return new Date(Date.now() - days * 86_400_000);
}

/** A delivery with two attempts, made long ago and finished so many days ago; null = still to be sent. */
async function delivery(endpointId: string, finishedDaysAgo: number | null, state = 'delivered'): Promise<string> {
  const id = newId('dlv');
  await fixture.prisma.$executeRaw`
    INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url, state,
                                    created_at, due_at, finished_at)
    VALUES (${id}, ${fixture.merchantId}, ${endpointId}, 1, ${newId('evt')}, 'receipt.registered', ${newId('rcp')},
            'http://127.0.0.1:9/', ${finishedDaysAgo === null ? 'pending' : state}::delivery_state, now() - interval '90 days',
            now() - interval '90 days', ${finishedDaysAgo === null ? null : daysAgo(finishedDaysAgo)}::timestamptz)`;
  await fixture.prisma.$executeRaw`
    INSERT INTO webhook_attempts (delivery_id, number, duration_ms, outcome) VALUES (${id}, 1, 1, 'timeout'), (${id}, 2, 1, 'timeout')`;
  return id;
}

async function left(): Promise<{ deliveries: string[]; attempts: number }> {
  const rows = await fixture.prisma.webhookDelivery.findMany({ orderBy: { id: 'asc' }, select: { id: true } });
  const attempts = await fixture.prisma.webhookAttempt.count();
  return { deliveries: rows.map(({ id }) => id), attempts };
}

test('what was finished longer ago than is kept goes, with its attempts; nothing that is still to be sent', async () => {
  const [live, disabled] = [await endpoint(), await endpoint({ disabled: true })];
  const [goneLong, goneNow] = [await endpoint({ deletedDaysAgo: 8 }), await endpoint({ deletedDaysAgo: 1 })];
  await delivery(live, 8);
  await delivery(live, 30, 'failed');
  await delivery(goneLong, null);
  const kept = [
    await delivery(live, 6),
    await delivery(live, 6, 'failed'),
    await delivery(live, null),
    await delivery(disabled, null),
    await delivery(goneNow, null),
  ];
  const clearing = fixture.app.get(ClearDeliveries, { strict: false });
  expect(await clearing.execute()).toBe(false);
  expect(await left()).toEqual({ deliveries: [...kept].sort(), attempts: kept.length * 2 });
});

test('in batches, until none is left; two at the same time take different rows', async () => {
  const id = await endpoint();
  await fixture.prisma.$executeRaw`
    INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url, state, finished_at)
    SELECT 'dlv_many' || n, ${fixture.merchantId}, ${id}, 1, 'evt_' || n, 'receipt.registered', 'rcp_' || n, 'http://127.0.0.1:9/',
           'delivered', now() - interval '8 days' FROM generate_series(1, 1200) AS n`;
  const clearing = fixture.app.get(ClearDeliveries, { strict: false });
  const many = async (): Promise<number> => fixture.prisma.webhookDelivery.count({ where: { endpointId: id } });
  expect(await Promise.all([clearing.execute(), clearing.execute()])).toEqual([true, true]);
  expect(await many()).toBe(200);
  expect(await clearing.execute()).toBe(false);
  expect(await many()).toBe(0);
});
