// A provider's call moves nothing that is not so: forged, replayed, late and reordered ones leave money and receipt agreeing.
import { newId } from '#runtime';
import { until } from '../system/until.js';
import { violationsOf } from '../../libs/payments/src/testing/provider-schemas.js';
import { CALLERS, type ProviderCaller } from './kit/callers.js';
import { FIRST_CALLERS } from './kit/first-callers.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();

describe.each([...FIRST_CALLERS, ...CALLERS].map((caller): [string, ProviderCaller] => [caller.name, caller]))(
  '%s',
  (_name, caller) => {
    beforeAll(() => caller.choose?.(fixture));

    async function open(): Promise<{ id: string; page: string }> {
      const { status, body } = await fixture.pay(caller.payment);
      expect([status, body.next_action.type]).toEqual([202, 'redirect']);
      return { id: body.id, page: body.next_action.type === 'redirect' ? body.next_action.url : '' };
    }

    /** Waits until its status, which a call may lead to, was read twice; where the provider drives there is none to read. */
    async function untilRead(id: string): Promise<void> {
      const { prisma } = fixture.gateway;
      const { flow } = await prisma.payment.findUniqueOrThrow({ where: { id } });
      if (flow === 'inbound') return;
      const reads = (): Promise<number> =>
        prisma.paymentCall.count({ where: { paymentId: id, call: 'read_status', finishedAt: { not: null } } });
      const before = await reads();
      await until('the status was read twice', reads, (count) => count >= before + 2);
    }

    it('is paid and registered once, whatever the order and number of its calls', async () => {
      for (const fault of ['duplicate', 'reorder', 'stale_webhook'] as const) {
        const { id, page } = await open();
        await fixture.faults({ fault, next: 1 });
        await fixture.press(page);
        await fixture.faults();
        const { receipt } = await fixture.until(id, { status: 'captured', receipt: 'registered' });
        const [money] = (await fixture.simulated(id)).filter(({ captures }) => captures > 0);
        expect([fault, money?.captures, money?.refunds]).toEqual([fault, 1, 0]);
        expect(await fixture.refundsOf(receipt.id)).toEqual([]);
      }
    });

    it('a forged call changes nothing and is not kept', async () => {
      const { id } = await open();
      await fixture.untilQuiet();
      const before = [await fixture.kept(id), (await fixture.read(id)).status];
      for (const forged of caller.forged(fixture, id)) {
        const { status, body } = await forged();
        expect(status).toBe(caller.refusedStatus);
        const isRefused = caller.isRefused?.(body as Record<string, unknown>) ?? true;
        expect([JSON.stringify(body), isRefused]).toEqual([JSON.stringify(body), true]);
      }
      expect([await fixture.kept(id), (await fixture.read(id)).status]).toEqual(before);
    });

    it('a call about an order that is not there stores nothing', async () => {
      await fixture.untilQuiet();
      const id = newId('pay');
      const before = await fixture.kept(id);
      await caller.about(fixture, id, PRICE)();
      expect(await fixture.kept(id)).toBe(before);
    });

    it('a true call replayed when all is over changes nothing', async () => {
      const { id, page } = await open();
      await fixture.press(page);
      const { receipt } = await fixture.until(id, { status: 'captured', receipt: 'registered' });
      await caller.about(fixture, id, PRICE)();
      await caller.about(fixture, id, PRICE)();
      expect((await fixture.read(id)).status).toBe('captured');
      expect(await fixture.refundsOf(receipt.id)).toEqual([]);
      expect((await fixture.simulated(id)).reduce((sum, { captures }) => sum + captures, 0)).toBe(1);
    });

    it('a call that says money was taken, where none was, moves nothing', async () => {
      const { id } = await open();
      await caller.lie(fixture, id)();
      await untilRead(id);
      expect((await fixture.read(id)).status).toBe('pending');
      expect((await fixture.read(id)).receipt.status).toBe('awaiting_payment');
    });

    it('its examples are of the published form', () => {
      for (const example of caller.examples()) expect(violationsOf(example)).toEqual([]);
    });
  },
);
