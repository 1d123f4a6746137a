// A definition says of its provider only what its client can do: the saga asks nothing of it that is not there.
import type { AccountField } from '#outgoing';
import { FLOWS, PROVIDERS, type PaymentProvider, type ProviderCapabilities } from './port.js';
import { DEFINITIONS } from './registry.js';
import { operationId } from './operation-id.js';

/** What may be empty is a bound of the merchant's own: no client knows of it. */
function valueOf({ fallback, pattern }: AccountField): string {
  return fallback ?? (pattern.test('') ? '' : '123456789');
}

/** An account with every product and every switch that a field offers, one after the other. */
function accountsOf(provider: (typeof PROVIDERS)[number]): Record<string, string>[] {
  const { fields } = DEFINITIONS[provider];
  const full = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, valueOf(field)]));
  const choices = Object.entries(fields).flatMap(([name, { pattern }]) =>
    (/^\^\(([^)]+)\)\$$/.exec(pattern.source)?.[1] ?? '')
      .split('|')
      .filter((word) => word !== '' && pattern.test(word))
      .map((word) => ({ ...full, [name]: word })),
  );
  return [full, ...choices];
}

const noServer = () => Promise.resolve({ kind: 'unsent' as const, detail: 'no server' });

describe.each(PROVIDERS)('%s', (provider) => {
  const definition = DEFINITIONS[provider];

  it('has fallbacks that fit their own fields and hosts', () => {
    for (const [name, { fallback, pattern, secret }] of Object.entries(definition.fields)) {
      expect([name, fallback === undefined || pattern.test(fallback)]).toEqual([name, true]);
      expect([name, secret && fallback !== undefined]).toEqual([name, false]);
      if (!name.endsWith('_url')) continue;
      expect(definition.hosts).toContain(new URL(fallback ?? '').hostname);
    }
  });

  it.each(
    accountsOf(provider).map((account): [string, Record<string, string>] => [
      JSON.stringify(account).slice(0, 60),
      account,
    ]),
  )('can do what it says: %s…', (_name, account) => {
    const read = (name: string): string => account[name] ?? '';
    const client = definition.client(read, noServer);
    const capabilities = definition.capabilities(read);
    expect(shortcomings(client, capabilities)).toEqual([]);
    const inbound = Object.values(capabilities.flows).includes('inbound');
    // One that only calls has no page, and no address of its own.
    expect(inbound && definition.hosts.length > 0).toBe(inbound && definition.checkout !== undefined);
  });
});

function shortcomings(client: PaymentProvider, can: ProviderCapabilities): string[] {
  const flows = FLOWS.filter((flow) => Object.values(can.flows).includes(flow));
  const found: string[] = [];
  const want = (what: string, isNeeded: boolean, method: keyof PaymentProvider): void => {
    if (isNeeded && client[method] === undefined) found.push(`${what} without ${method}`);
  };
  want('preparedFlows', can.preparedFlows.length > 0, 'prepare');
  want(
    'a flow of ours',
    flows.some((flow) => flow !== 'inbound' && flow !== 'veto'),
    'authorize',
  );
  want('a hold', flows.includes('hold'), 'capture');
  want(
    'a hold, a page',
    flows.some((flow) => flow === 'hold' || flow === 'invoice' || flow === 'veto'),
    'void',
  );
  want('statusFlows', can.statusFlows.length > 0, 'fetchStatus');
  want('linkFlows', can.linkFlows.length > 0, 'attachLink');
  want(
    'refunds',
    flows.some((flow) => can.refundInitiator[flow] === 'us'),
    'refund',
  );
  want('documents', can.providerDocuments === 'fetched', 'fetchDocument');
  if (flows.includes('hold') && can.holdSeconds === null) found.push('a hold of unknown length');
  return found;
}

describe.each(PROVIDERS)('the sums of an account at %s', (provider) => {
  const definition = DEFINITIONS[provider];
  const { fields } = definition;
  const reading =
    (given: Record<string, string>) =>
    (name: string): string =>
      given[name] ?? fields[name]?.fallback ?? '';

  it('are bounded by its merchant, and by the provider where it says so', () => {
    const own = definition.capabilities(reading({})).amountTiyin;
    const ofMerchant = definition.capabilities(
      reading({ least_amount: '2000000', most_amount: '3000000' }),
    ).amountTiyin;
    expect(ofMerchant).toEqual({ least: 2_000_000, most: 3_000_000 });
    const open = definition.capabilities(reading({ most_amount: '999999999999999' })).amountTiyin;
    expect(open).toEqual(own ?? { least: 0, most: 999_999_999_999_999 });
    expect(definition.capabilities(reading({ most_amount: '' })).amountTiyin).toEqual(own);
  });

  it.each(['0', '-1', '1.5', '1e3', 'all', '1'.repeat(16), ' 5'])('are whole tiyin: %j is none', (text) => {
    for (const name of ['least_amount', 'most_amount']) expect(fields[name]?.pattern.test(text)).toBe(false);
  });

  it('are some: the least is not above the most', () => {
    const bounds = (least: string, most: string) => {
      const found = definition.faults?.(reading({ least_amount: least, most_amount: most })) ?? [];
      return found.filter(({ code }) => code === 'out_of_range').map(({ field }) => field);
    };
    expect(bounds('2000000', '1999999')).toEqual(['most_amount']);
    expect(bounds('2000000', '2000000')).toEqual([]);
    // Said of the field itself.
    expect(bounds('no number', '2000000')).toEqual([]);
    expect(bounds('2000000', '-1')).toEqual([]);
  });
});

it('an operation id is the same for the same parts, another for others, and a UUID of version 5', () => {
  expect(operationId('pay_1', 'refund', '7')).toBe(operationId('pay_1', 'refund', '7'));
  expect(operationId('pay_1', 'refund', '7')).not.toBe(operationId('pay_1', 'refund', '8'));
  expect(operationId('pay_1')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

it.each([
  ['uzum', 'merchant_password'],
  ['paynet', 'password'],
] as const)('what alone proves that %s calls is no short word (%s)', (provider, name) => {
  const { pattern } = DEFINITIONS[provider].fields[name] ?? {};
  expect(['fifteen-letters', 'sixteen-letters-'].map((password) => pattern?.test(password))).toEqual([false, true]);
});
