import type { CallResult, LocalApiClient, SaleAnswer } from '#local-api';
import type { TestRegister } from '../../apps/cash-register/src/testing/register-fixture.js';
import { sale } from '../../apps/cash-register/src/testing/samples.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import type { CutProxy } from './cut-proxy.js';

/** One way from a relay to a register, and what a test may do to it. */
export interface Carried {
  register: TestRegister;
  /** @param timeoutMs deadline of a receipt and of every other call */
  client(timeoutMs?: number): LocalApiClient;
  /** To a register whose port is closed. */
  deadClient(): LocalApiClient;
  /** The cable between relay and register. */
  cable: CutProxy;
  /** The cable is whole and calls get through. */
  healed(): Promise<void>;
}

const BODY = Buffer.from(JSON.stringify(sale()));
let keys = 0;
const nextKey = (): string => `rcp_${(keys += 1)}`;

export async function sell(client: LocalApiClient, key = nextKey(), mayStillSend = () => true): Promise<SaleAnswer> {
  const preparation = await client.prepareReceipt(BODY, key);
  return preparation.kind === 'ready' ? preparation.call.send(mayStillSend) : preparation;
}

/** What every transport must do alike. The first argument names it, the second gives one before each test. */
export function transportContract(name: string, carried: () => Carried): void {
  const set = (...rules: object[]): Promise<unknown> => carried().register.call('POST', '/emulator/faults', { rules });
  const sequence = async (): Promise<number> =>
    (await carried().register.call('GET', '/fm/info')).body.currentReceiptSeq as number;
  const SHORT_MS = 700;

  afterEach(async () => {
    await set();
    await carried().healed();
  });

  describe(`${name}: calls`, () => {
    test('bring the answers that the register gives', async () => {
      const { register } = carried();
      const client = carried().client();
      const calls: [string, Promise<CallResult<unknown>>][] = [
        ['/status', client.status()],
        ['/fm/info', client.fmInfo()],
        ['/business', client.business()],
        ['/branch', client.branch()],
        ['/z-report/current', client.currentZReport()],
        ['/z-report/stats', client.zReportStats()],
      ];
      for (const [path, call] of calls) {
        const direct = await register.call('GET', path);
        const result = await call;
        expect([path, result]).toMatchObject([path, { kind: 'ok' }]);
        if (result.kind !== 'ok') continue;
        expect(direct.body).toMatchObject(result.value as object);
        expect(result.headers['x-emulator']).toBe('1');
      }
    });

    test('shifts, resends and the journal', async () => {
      const client = carried().client();
      const key = nextKey();
      const sold = await sell(client, key);
      expect(sold).toMatchObject({ kind: 'registered' });
      const receiptSeq = sold.kind === 'registered' ? sold.response.receipt.receiptSeq : 0;
      expect(await client.findByKey(key)).toMatchObject({ kind: 'ok', value: { receipt: { receiptSeq } } });
      expect(await client.findBySeq(receiptSeq)).toMatchObject({ kind: 'ok', value: { receipt: { receiptSeq } } });
      expect(await client.findBySeq(receiptSeq + 1)).toMatchObject({ kind: 'refused', code: 'S-002' });
      expect(await client.sendUnsentReceipts()).toMatchObject({ kind: 'ok', value: { success: true } });
      expect(await client.sendUnsentZReports()).toMatchObject({ kind: 'ok' });
      expect(await client.closeShift()).toMatchObject({ kind: 'ok', value: { success: true } });
      expect(await client.openShift()).toMatchObject({ kind: 'ok', value: { success: true } });
    });

    test('the key goes along: the same receipt again is the same registration', async () => {
      const key = nextKey();
      const [first, second] = [await sell(carried().client(), key), await sell(carried().client(), key)];
      expect(second).toEqual(first);
      expect(first).toMatchObject({ kind: 'registered' });
    });
  });

  describe(`${name}: every fault of the emulator`, () => {
    test('drop_request: unclear, nothing registered', async () => {
      const before = await sequence();
      await set({ fault: 'drop_request', next: 1 });
      expect(await sell(carried().client())).toMatchObject({ kind: 'unclear', reason: 'reset' });
      expect(await sequence()).toBe(before);
    });

    test('late_request: unclear by timeout, registered later', async () => {
      const before = await sequence();
      await set({ fault: 'late_request', next: 1, delay_ms: 2 * SHORT_MS });
      expect(await sell(carried().client(SHORT_MS))).toMatchObject({ kind: 'unclear', reason: 'timeout' });
      await until('the sleeper is registered', sequence, (now) => now === before + 1);
    });

    test('drop_answer: unclear, registered, and found by its key', async () => {
      const before = await sequence();
      await set({ fault: 'drop_answer', next: 1 });
      const key = nextKey();
      expect(await sell(carried().client(), key)).toMatchObject({ kind: 'unclear', reason: 'reset' });
      expect(await carried().client().findByKey(key)).toMatchObject({ kind: 'ok' });
      expect(await sequence()).toBe(before + 1);
    });

    test('late_answer: in time it is an answer, too late it is unclear and is never read', async () => {
      await set({ fault: 'late_answer', next: 1, delay_ms: 200 });
      expect(await sell(carried().client())).toMatchObject({ kind: 'registered' });
      await set({ fault: 'late_answer', next: 1, delay_ms: 2 * SHORT_MS });
      const given = nextKey();
      expect(await sell(carried().client(SHORT_MS), given)).toMatchObject({ kind: 'unclear', reason: 'timeout' });
      // The request that was given up may still be on its way: it must not use up the fault of a later sale.
      await until(
        'it is registered',
        () => carried().register.call('GET', `/receipts?key=${given}`),
        ({ status }) => status === 200,
      );
      const key = nextKey();
      const next = await sell(carried().client(), key);
      const stored = await carried().register.call('GET', `/receipts?key=${key}`);
      expect(next).toMatchObject({ kind: 'registered', response: { receipt: stored.body.receipt } });
    });

    test('error_after: a refusal that proves nothing, returned as it is', async () => {
      const before = await sequence();
      await set({ fault: 'error_after', next: 1 });
      expect(await sell(carried().client())).toMatchObject({ kind: 'refused', httpStatus: 500, code: 'S-004' });
      expect(await sequence()).toBe(before + 1);
    });

    test('refuse: code and status, on other calls too', async () => {
      await set(
        { fault: 'refuse', next: 1, code: 'F-003' },
        { fault: 'refuse', code: 'F-001', path: '/z-report/close' },
      );
      expect(await sell(carried().client())).toMatchObject({ kind: 'refused', httpStatus: 503, code: 'F-003' });
      expect(await carried().client().closeShift()).toMatchObject({ kind: 'refused', code: 'F-001' });
    });

    test('subscription, memory_full and ofd_down', async () => {
      await set({ fault: 'subscription', code: 'expired' });
      expect(await sell(carried().client())).toMatchObject({ kind: 'refused', httpStatus: 402, code: 'E-002' });
      expect(await carried().client().status()).toMatchObject({ kind: 'ok', value: { subscriptionState: 'expired' } });
      await set({ fault: 'memory_full', next: 1 }, { fault: 'ofd_down', next: 1 });
      expect(await sell(carried().client())).toMatchObject({ kind: 'refused', details: { reason: 'memory_full' } });
      expect(await sell(carried().client())).toMatchObject({ kind: 'registered', response: { ofdSent: false } });
    });

    test('clock_jump', async () => {
      await sell(carried().client());
      await set({ fault: 'clock_jump', delay_ms: -3_600_000 });
      expect(await sell(carried().client())).toMatchObject({ kind: 'refused', details: { reason: 'clock_behind' } });
      await set({ fault: 'clock_jump', delay_ms: 3_600_000 });
      expect(await sell(carried().client())).toMatchObject({ kind: 'registered' });
    });
  });

  describe(`${name}: the send guard`, () => {
    test('ready means: connected, and the register has nothing; a guard that says no keeps it so', async () => {
      const before = await sequence();
      expect(await sell(carried().client(), nextKey(), () => false)).toEqual({ kind: 'not_sent', reason: 'guard' });
      const broken = (): boolean => {
        throw new Error('the clock is gone');
      };
      await expect(sell(carried().client(), nextKey(), broken)).rejects.toThrow('the clock is gone');
      const preparation = await carried().client().prepareReceipt(BODY, nextKey());
      if (preparation.kind === 'ready') preparation.call.abandon();
      expect(await sell(carried().client())).toMatchObject({ kind: 'registered' });
      expect(await sequence()).toBe(before + 1);
    });
  });

  describe(`${name}: the cable is cut`, () => {
    test('before the bytes: not sent, and nothing is registered', async () => {
      const before = await sequence();
      const preparation = await carried().client().prepareReceipt(BODY, nextKey());
      if (preparation.kind !== 'ready') throw new Error(preparation.reason);
      carried().cable.cut();
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(await preparation.call.send(() => true)).toMatchObject({ kind: 'not_sent' });
      await carried().healed();
      expect(await sequence()).toBe(before);
    });

    test('when the bytes have left and not arrived: unclear, nothing registered', async () => {
      const before = await sequence();
      const preparation = await carried().client().prepareReceipt(BODY, nextKey());
      if (preparation.kind !== 'ready') throw new Error(preparation.reason);
      carried().cable.swallowing = true;
      const answer = preparation.call.send(() => true);
      await until(
        'the bytes are on their way',
        () => carried().cable.bytesSwallowed,
        (bytes) => bytes >= BODY.length,
      );
      carried().cable.cut();
      expect(await answer).toMatchObject({ kind: 'unclear', reason: 'reset' });
      await carried().healed();
      expect(await sequence()).toBe(before);
    });

    test('when the register has it and has not answered: unclear, registered once', async () => {
      const before = await sequence();
      await set({ fault: 'late_answer', next: 1, delay_ms: 3_000 });
      const key = nextKey();
      const answer = sell(carried().client(), key);
      await until('the register has it', sequence, (now) => now === before + 1);
      carried().cable.cut();
      expect(await answer).toMatchObject({ kind: 'unclear', reason: 'reset' });
      await carried().healed();
      expect(await sell(carried().client(), key)).toMatchObject({ kind: 'registered' });
      expect(await sequence()).toBe(before + 1);
    });

    test('during the answer: unclear, registered once', async () => {
      const before = await sequence();
      const preparation = await carried().client().prepareReceipt(BODY, nextKey());
      if (preparation.kind !== 'ready') throw new Error(preparation.reason);
      carried().cable.cutAfterAnswerBytes = 120;
      expect(await preparation.call.send(() => true)).toMatchObject({ kind: 'unclear', reason: 'reset' });
      await carried().healed();
      expect(await sequence()).toBe(before + 1);
    });
  });

  test(`${name}: a register that refuses connections has got nothing`, async () => {
    const client = carried().deadClient();
    expect(await sell(client)).toEqual({ kind: 'not_sent', reason: 'ECONNREFUSED' });
    expect(await client.status()).toEqual({ kind: 'unreachable', reason: 'ECONNREFUSED' });
  });
}
