// Every provider keeps the port's word: what it says of a call is what happened to the money, and what was not answered is unknown.
import { thousandths, tiyin, type ReceiptLine } from '#fiscal-domain';
import {
  DEFINITIONS,
  type CallOutcome,
  type PaymentOrder,
  type PaymentProvider,
  type PaymentRef,
  type ProviderCapabilities,
} from '#payments';
import { until } from '../../libs/runtime/src/testing/until.js';
import { NO_INSTRUMENT, readerOf, type ProviderWay } from './kit/provider-kit.js';
import { KitSimulator, TIMEOUT_MS } from './kit/simulator.js';
import { WAYS } from './kit/ways.js';

const SUM = 150_050;
const LINES: ReceiptLine[] = [
  {
    ...{ line: 1, sku: null, name: 'Non', quantity: thousandths(2_000), priceTiyin: tiyin(75_025) },
    ...{ discountTiyin: tiyin(0), totalTiyin: tiyin(SUM), vatPercent: 12, vatTiyin: tiyin(16_077) },
    ...{ spic: '01905001001000001', packageCode: '1500001', units: 796, barcode: null, labels: [], commission: null },
  },
];
const simulator = new KitSimulator();
let orders = 0;

beforeAll(() => simulator.start());
afterAll(async () => {
  await simulator.stop();
  // Whatever these tests sent a provider and were answered is as its published documents describe it.
  expect([...simulator.violations]).toEqual([]);
});
beforeEach(() => simulator.faults());

interface Begun {
  client: PaymentProvider;
  order: PaymentOrder;
  ref: PaymentRef;
  page: string | null;
}

function clientOf(way: ProviderWay, url = simulator.url): PaymentProvider {
  return DEFINITIONS[way.provider].client(readerOf(way, url), simulator.exchange);
}

function capabilitiesOf(way: ProviderWay): ProviderCapabilities {
  return DEFINITIONS[way.provider].capabilities(readerOf(way, simulator.url));
}

async function begin(way: ProviderWay, client = clientOf(way)): Promise<Begun> {
  orders += 1;
  const ourRef = `pay_kit${String(Date.now())}${String(orders)}`;
  const order: PaymentOrder = {
    ...{ ourRef, amountTiyin: SUM, description: `Order ${ourRef}`, callbackUrl: 'https://gw.example/cb' },
    ...{ returnUrl: 'https://shop.example/back', lines: null, saleLines: LINES },
  };
  const ref: PaymentRef = { ourRef, providerRef: null, flow: way.flow, amountTiyin: SUM, createdAtMs: Date.now() };
  let page: string | null = null;
  if (capabilitiesOf(way).preparedFlows.includes(way.flow)) {
    const prepared = await client.prepare?.(order, way.flow, instrumentOf(way));
    if (prepared?.kind === 'status') {
      ref.providerRef = prepared.providerRef;
      page = prepared.nextAction?.type === 'redirect' ? prepared.nextAction.url : null;
    }
  }
  return { client, order, ref, page };
}

function instrumentOf({ instrument }: ProviderWay) {
  return { ...NO_INSTRUMENT, ...instrument };
}

/** Asks for the money; on a page or in an app, the customer's own step follows. */
async function authorize(way: ProviderWay, { client, order, ref, page }: Begun): Promise<CallOutcome | undefined> {
  const outcome = await client.authorize?.(order, instrumentOf(way), ref);
  if (outcome?.kind === 'status') ref.providerRef ??= outcome.providerRef;
  if (page !== null) await simulator.press(page);
  if (way.pays === 'in the app') await simulator.payInvoice(order.ourRef);
  return outcome;
}

const taken = ({ flow, held }: ProviderWay): string => (flow === 'hold' ? held : 'captured');

async function paid(way: ProviderWay): Promise<Begun> {
  const begun = await begin(way);
  await authorize(way, begun);
  await reads(begun, new RegExp(`^${taken(way)}$`));
  return begun;
}

/** Money that is taken for good. */
async function captured(way: ProviderWay): Promise<Begun> {
  const begun = await paid(way);
  if (way.flow === 'hold') {
    await begun.client.capture?.(begun.ref, null);
    await reads(begun, /^captured$/);
  }
  return begun;
}

/** Asks until the status is as wanted. */
async function reads({ client, ref }: Begun, wanted: RegExp): Promise<CallOutcome | undefined> {
  const said = await until(
    `${ref.ourRef} is ${String(wanted)}`,
    async () => client.fetchStatus?.(ref),
    (outcome) => outcome?.kind === 'status' && wanted.test(outcome.status),
  );
  if (said?.kind === 'status') ref.providerRef ??= said.providerRef;
  return said;
}

const BACK = /^(refunded|voided|declined)$/;
const FAULTS = ['drop_before', 'drop_after', 'error_before', 'error_after', 'malformed', 'delay', 'late'] as const;
const isDone = (fault: string): boolean => !fault.endsWith('_before');

describe.each(WAYS.map((way): [string, ProviderWay] => [way.name, way]))('%s', (_name, way) => {
  /** Its money, or the customer, is asked for by a call of ours. */
  const byCall = way.pays !== 'on page';
  const refunds = DEFINITIONS[way.provider].capabilities(readerOf(way, '')).refundInitiator[way.flow] === 'us';

  it('moves the money as it says, by the same sum, and back', async () => {
    const begun = await captured(way);
    const { client, ref } = begun;
    const status = await reads(begun, /^captured$/);
    expect(status).toMatchObject({ amountTiyin: way.showsAmount ? SUM : null });
    expect(await simulator.money(ref.ourRef)).toMatchObject({ taken: 1, back: 0 });
    if (!refunds) return;
    await client.refund?.(ref, { amountTiyin: SUM, key: '1', lines: null });
    await reads(begun, BACK);
    expect(await simulator.money(ref.ourRef)).toMatchObject({ taken: 1, back: SUM });
  });

  it('attaches the link to what was paid', async () => {
    const begun = await captured(way);
    const { client, ref } = begun;
    if (!capabilitiesOf(way).linkFlows.includes(way.flow)) return;
    const link = { url: 'https://ofd/x', terminalId: 'UZ1', receiptSeq: 1, fiscalSign: '1', isRefund: false };
    const outcome = await client.attachLink?.(ref, { ...link, dateTime: '20260102030405' });
    expect(outcome).toMatchObject({ kind: 'status' });
  });

  it('lets a hold go', async () => {
    if (way.flow !== 'hold' || capabilitiesOf(way).holdSeconds === 30) return;
    const begun = await paid(way);
    await begun.client.void?.(begun.ref);
    await reads(begun, BACK);
    expect(await simulator.money(begun.ref.ourRef)).toMatchObject({ taken: 0 });
  });

  it('distinguishes a declined card from a lost answer', async () => {
    const begun = await begin(way);
    await simulator.faults({ fault: 'decline', next: 1 });
    const outcome = await authorize(way, begun);
    if (outcome?.kind === 'refused') return;
    await reads(begun, /^(declined|voided)$/);
  });

  it.each(FAULTS)('authorize: claims nothing that did not happen after %s', async (fault) => {
    if (!byCall) return;
    const begun = await begin(way);
    await simulator.faults({ fault, next: 1, delay_ms: fault === 'delay' ? TIMEOUT_MS + 500 : 200 });
    const outcome = await authorize(way, begun);
    await claimIsTrue(begun, outcome);
    expect(outcome?.kind).not.toBe('refused');
    await simulator.faults();
    const said = await settled(begun);
    // Where a call goes before it that moves nothing, that one is struck.
    if (isDone(fault) && outcome?.kind !== 'unsent') expect(said).toBe(taken(way));
    else expect(said).toMatch(/^(pending|not_found|unknown)$/);
  });

  it.each(FAULTS)('capture: claims nothing that did not happen after %s, and is not done twice', async (fault) => {
    if (way.flow !== 'hold') return;
    const begun = await paid(way);
    const { client, ref } = begun;
    await simulator.faults({ fault, next: 1, delay_ms: fault === 'delay' ? TIMEOUT_MS + 500 : 200 });
    const outcome = await client.capture?.(ref, null);
    await claimIsTrue(begun, outcome);
    await simulator.faults();
    if ((await settled(begun)) === way.held) await client.capture?.(ref, null);
    await reads(begun, /^captured$/);
    expect(await simulator.money(ref.ourRef)).toMatchObject({ taken: 1, back: 0 });
  });

  it.each(FAULTS)('refund: claims nothing that did not happen after %s, and gives back once', async (fault) => {
    if (!refunds) return;
    const begun = await captured(way);
    const { client, ref } = begun;
    await simulator.faults({ fault, next: 1, delay_ms: fault === 'delay' ? TIMEOUT_MS + 500 : 200 });
    const refund = { amountTiyin: SUM, key: '1', lines: null };
    const outcome = await client.refund?.(ref, refund);
    if (outcome?.kind === 'status' && outcome.status === 'refunded')
      expect(await simulator.money(ref.ourRef)).toMatchObject({ back: SUM });
    await simulator.faults();
    if ((await settled(begun)) === 'captured') await client.refund?.(ref, refund);
    await reads(begun, BACK);
    expect(await simulator.money(ref.ourRef)).toMatchObject({ taken: 1, back: SUM });
  });

  it('gives back in parts: each once, never more than was taken', async () => {
    const begun = await captured(way);
    const { client, ref } = begun;
    if (!capabilitiesOf(way).partialRefunds.includes(way.flow)) return;
    const part = (key: string) => client.refund?.(ref, { amountTiyin: 50_000, key, lines: null });
    expect(await part('1')).toMatchObject({ kind: 'status', status: 'refunded' });
    if (way.repeatedRefund === 'replayed') expect(await part('1')).toMatchObject({ status: 'refunded' });
    if (way.repeatedRefund === 'refused') expect((await part('1'))?.kind).not.toBe('status');
    expect(await part('2')).toMatchObject({ kind: 'status', status: 'refunded' });
    expect(await simulator.money(ref.ourRef)).toMatchObject({ back: 100_000 });
    const tooMuch = await client.refund?.(ref, { amountTiyin: 50_051, key: '3', lines: null });
    expect(tooMuch?.kind).not.toBe('status');
    const said = await reads(begun, /^captured$/);
    expect(said?.kind === 'status' ? said.refundedTiyin : 0).toEqual(way.showsRefunded ? 100_000 : null);
    expect(await simulator.money(ref.ourRef)).toMatchObject({ taken: 1, back: 100_000 });
  });

  it('an order whose making was not answered is charged once', async () => {
    const provider = client();
    if (!capabilitiesOf(way).preparedFlows.includes(way.flow)) return;
    await simulator.faults({ fault: 'drop_after', next: 1 });
    const begun = await begin(way, provider);
    expect(begun.ref.providerRef).toBeNull();
    const again = await provider.prepare?.(begun.order, way.flow, instrumentOf(way));
    expect(again?.kind).toBe('status');
    if (again?.kind !== 'status') return;
    begun.ref.providerRef = again.providerRef;
    begun.page = again.nextAction?.type === 'redirect' ? again.nextAction.url : null;
    await authorize(way, begun);
    await reads(begun, new RegExp(`^${taken(way)}$`));
    const { statuses } = await simulator.money(begun.ref.ourRef);
    expect(statuses.filter((status) => status !== 'pending')).toHaveLength(1);
  });

  it('shows money of another sum or currency as that', async () => {
    if (!way.showsAmount) return;
    const begun = await paid(way);
    const [id = ''] = (await simulator.money(begun.ref.ourRef)).ids.slice(-1);
    await simulator.edit(id, { amount: SUM - 1 });
    expect(await begun.client.fetchStatus?.(begun.ref)).toMatchObject({ amountTiyin: SUM - 1 });
    if (!way.showsCurrency) return;
    await simulator.edit(id, { amount: SUM, currency: 'USD' });
    const other = await begun.client.fetchStatus?.(begun.ref);
    expect(other?.kind === 'status' ? other.status : other?.kind).toMatch(/^(manual|unknown)$/);
  });

  it('a hold that has ended by itself is no money', async () => {
    if (!way.expires) return;
    const begun = await begin(way);
    await simulator.faults({ fault: 'expire_hold', next: 1, delay_ms: 50 });
    await authorize(way, begun);
    await reads(begun, BACK);
    const outcome = await begun.client.capture?.(begun.ref, null);
    expect(outcome).not.toMatchObject({ status: 'captured' });
    expect(await simulator.money(begun.ref.ourRef)).toMatchObject({ taken: 0 });
  });

  it('a clock that is wrong moves no money and is said', async () => {
    if (!way.timed) return;
    const begun = await begin(way);
    await simulator.faults({ fault: 'skewed_clock', next: 1 });
    const outcome = await authorize(way, begun);
    expect(outcome?.kind).toMatch(/^(refused|unsent)$/);
    expect(await simulator.money(begun.ref.ourRef)).toMatchObject({ taken: 0 });
  });

  it('sends nothing to an address without a server, and says so', async () => {
    const begun = await begin(way, clientOf(way, 'http://127.0.0.1:9'));
    begun.ref.providerRef = '0c8a4f0e-6f4f-4d7f-9f5c-4a1f0a6f3d11';
    if (byCall) expect(await begun.client.authorize?.(begun.order, instrumentOf(way), begun.ref)).toMatchObject(UNSENT);
    if (way.flow === 'hold') expect(await begun.client.capture?.(begun.ref, null)).toMatchObject(UNSENT);
    if (refunds)
      expect(await begun.client.refund?.(begun.ref, { amountTiyin: SUM, key: '1', lines: null })).toMatchObject(UNSENT);
  });

  function client(): PaymentProvider {
    return clientOf(way);
  }
});

const UNSENT = { kind: 'unsent' };

/** Never more and never less than the provider has really done. */
async function claimIsTrue({ ref }: Begun, outcome: CallOutcome | undefined): Promise<void> {
  const { taken: captures, statuses } = await simulator.money(ref.ourRef);
  if (outcome?.kind === 'unsent') expect(captures).toBe(0);
  if (outcome?.kind !== 'status') return;
  if (outcome.status === 'captured') expect(captures).toBe(1);
  if (outcome.status === 'authorized') expect(statuses).toContain('held');
  if (outcome.status === 'declined' || outcome.status === 'voided') expect(captures).toBe(0);
}

/** The first thing that the status says once nothing is under way; `unknown`: it cannot be asked. */
async function settled({ client, ref }: Begun): Promise<string> {
  await until(
    'nothing is under way at the provider',
    () => simulator.isSettled(),
    (isSettled) => isSettled,
  );
  const said = await client.fetchStatus?.(ref);
  if (said?.kind !== 'status') return 'unknown';
  ref.providerRef ??= said.providerRef;
  return said.status;
}
