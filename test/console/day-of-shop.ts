import type { PrismaService } from '#database';
import { Receiver } from '../../apps/gateway/src/notify/webhooks/testing/receiver.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { setFaults } from '../system/outside-world.js';
import { ConsolePerson, inviteByCommand } from './console-person.js';
import type { ConsoleRig } from './console-rig.js';

export interface Shop {
  rig: ConsoleRig;
  /** The database behind the system. */
  prisma: PrismaService;
  owner: ConsolePerson;
}

/** Only the sales come from elsewhere, as in a shop; whatever a person does is done in the console. */
export async function playDay({ rig, prisma, owner }: Shop): Promise<void> {
  const { page } = owner;
  const { client } = rig;
  const dialog = page.getByRole('dialog');
  const receiver = await Receiver.start();
  receiver.answer = (_received, response) => void response.writeHead(503).end('not yet');
  // The shop's own program receives its receipts' events.
  await owner.visitor.open('/webhooks');
  await page.getByRole('button', { name: 'Add an endpoint' }).click();
  await dialog.getByLabel('Address').fill(`${receiver.url}/shop`);
  await dialog.getByLabel('Events', { exact: true }).fill('receipt.registered');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await dialog.getByText(/whsec_/).waitFor();
  await dialog.locator('.stack').getByRole('button', { name: 'Close' }).click();

  // Decisions above one so'm need a second person from now on.
  await owner.visitor.open('/access?view=approvals');
  await page.getByLabel(/^Decisions above/).fill('1');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();

  // The ERP sells; the answer to its second sale is lost.
  const sold = await client.post('/v1/receipts', client.saleOf(0, { external_id: 'morning' }));
  expect(sold.status).toBe(201);
  await setFaults(rig.system, [{ fault: 'drop_answer', rate: 1 }]);
  const lost = String((await client.post('/v1/receipts', client.saleOf(1), { prefer: 'respond-async' })).body.id);
  await owner.visitor.open('/unknown');
  const card = page.getByRole('article', { name: lost });
  await card.getByRole('radio', { name: /does not have it/ }).waitFor();
  await setFaults(rig.system, []);
  await card.getByRole('radio', { name: /does not have it/ }).check();
  await card.getByLabel(/^Reason/).fill('read from the journal of the register');
  await card.getByRole('button', { name: 'Decide' }).click();
  await card.getByText(/A second person has to approve this first/).waitFor();

  const second = await ConsolePerson.come(rig, prisma, 'second@shop.uz');
  await second.accept(await inviteByCommand(rig, 'second@shop.uz', 'owner'), 'Bobur');
  await second.visitor.open('/access?view=approvals');
  await second.page.getByRole('button', { name: 'Approve' }).click();
  await second.page.getByText('Nothing waits for a second person.').waitFor();
  await second.visitor.end();
  await card.getByRole('button', { name: 'Decide' }).click();
  await card.waitFor({ state: 'detached' });
  await until(
    'it is registered',
    async () => (await client.get(`/v1/receipts/${lost}`)).body.status,
    (status) => status === 'registered',
  );

  await owner.visitor.open('/receipts?external_id=morning');
  await page.locator('.row-link').click();
  await page.getByRole('button', { name: 'Refund', exact: true }).click();
  await dialog.getByRole('button', { name: 'Refund', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  await page
    .locator('.card', { has: page.getByRole('heading', { name: 'Refunds' }) })
    .getByText('Registered')
    .waitFor();

  await owner.visitor.open(`/registers/${rig.system.merchant.tills[0]?.deviceId ?? ''}`);
  await page.locator('.page-actions').getByRole('button', { name: 'Register' }).click();
  await page.getByRole('menuitem', { name: 'Close the shift' }).click();
  await dialog.getByRole('button', { name: 'Close the shift' }).click();
  await dialog.getByText('Done.').waitFor();
  // The relay reads the register's Z-report after the shift was closed; the page reads it when it is opened.
  await until(
    'the report has the shift',
    async () => {
      await owner.visitor.open('/reports');
      return page.getByText('Shift 1').first().isVisible();
    },
    Boolean,
  );
  await recoverWebhook({ prisma, owner }, receiver);
}

/** A receiver that failed is left alone for a while: that goes by at once. */
async function endPause(prisma: PrismaService, receiver: Receiver): Promise<void> {
  await prisma.$executeRaw`
    UPDATE webhook_endpoints SET due_at = now(), blocked_until = NULL WHERE url = ${`${receiver.url}/shop`}`;
}

/** Days pass until everything is given up; then the receiver works again, and what it missed is sent. */
async function recoverWebhook({ prisma, owner }: Pick<Shop, 'prisma' | 'owner'>, receiver: Receiver): Promise<void> {
  const { page } = owner;
  const dialog = page.getByRole('dialog');
  const givenUp = await until(
    'all is given up',
    async () => {
      await prisma.$executeRaw`
        UPDATE webhook_deliveries SET attempt_count = 9, due_at = now()
         WHERE state = 'pending' AND url = ${`${receiver.url}/shop`}`;
      await endPause(prisma, receiver);
      const rows = await prisma.webhookDelivery.groupBy({
        by: ['state'],
        where: { url: `${receiver.url}/shop` },
        _count: true,
      });
      return rows.map(({ state, _count: count }) => ({ state, count }));
    },
    (rows) => rows.length === 1 && rows[0]?.state === 'failed',
    170_000,
  );
  receiver.answer = (_received, response) => void response.writeHead(204).end();
  const missed = new Set(receiver.received.map(({ event }) => event.id));
  receiver.received.length = 0;
  await owner.visitor.open('/webhooks');
  await page.getByRole('link', { name: `${receiver.url}/shop` }).click();
  await page.locator('.badge', { hasText: 'Given up' }).first().waitFor();
  await page.locator('.page-actions').getByRole('button', { name: 'Address' }).click();
  await page.getByRole('menuitem', { name: 'Recover what was given up' }).click();
  await dialog.getByRole('button', { name: 'Recover what was given up' }).click();
  await dialog
    .getByRole('status')
    .filter({ hasText: String(givenUp[0]?.count ?? 0) })
    .waitFor();
  await dialog.locator('.row-actions').getByRole('button', { name: 'Close' }).click();
  await until(
    'the shop has what it missed',
    async () => {
      await endPause(prisma, receiver);
      return [...missed].filter((id) => !receiver.received.some(({ event }) => event.id === id));
    },
    (left) => left.length === 0,
    170_000,
  );
  // The list reads itself again every ten seconds.
  await page.locator('.badge', { hasText: 'Delivered' }).first().waitFor();
  await receiver.stop();
}
