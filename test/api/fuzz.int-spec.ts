// Promise: whatever is sent to the API, it never answers 5xx, and every refusal is a valid problem document.
import 'reflect-metadata';
import fc from 'fast-check';
import { ApiWorld } from './api-world.js';
import { arbitraryOf } from './arbitrary-of.js';
import type { Endpoint } from './api-document.js';

const REQUESTS = 2_400;
const AT_ONCE = 8;
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_261_120);

/** These have a relay ask a register, and none runs here: the call would wait for its deadline. */
const NEEDS_RELAY = /^\/v1\/devices\/\{id\}\/(check|shift)/;

let world: ApiWorld;

beforeAll(async () => {
  world = await ApiWorld.start();
});

afterAll(() => world?.stop());

interface Attack {
  endpoint: Endpoint;
  path: string;
  body: { kind: 'none' } | { kind: 'json'; value: unknown } | { kind: 'raw'; text: string };
  headers: Record<string, string>;
}

const ODD: readonly unknown[] = [
  ...[null, true, '', 0, -1, 1e308, 9_007_199_254_740_992, [], {}, [[]], '\u0000', '\ud800', 'ʻ', 'a'.repeat(5_000)],
  ...[{ __proto__: null, constructor: 1 }, "' OR 1=1 --", '../../etc/passwd', '2026-13-45T99:99:99Z', '1e3', 'NaN'],
];

/** A value with one place in it replaced. */
function spoiled(value: unknown): fc.Arbitrary<unknown> {
  if (typeof value !== 'object' || value === null) return fc.constantFrom(...ODD);
  const keys = Object.keys(value);
  return fc
    .tuple(fc.constantFrom(...keys, 'surprise'), fc.constantFrom(...ODD), fc.boolean())
    .chain(([key, odd, deeper]) => {
      const old = (value as Record<string, unknown>)[key];
      const fresh = deeper && typeof old === 'object' && old !== null ? spoiled(old) : fc.constant(odd);
      return fresh.map((one) =>
        Array.isArray(value)
          ? value.map((item: unknown, at) => (String(at) === key ? one : item))
          : { ...value, [key]: one },
      );
    });
}

function bodies({ operation }: Endpoint): fc.Arbitrary<Attack['body']> {
  const content = operation.requestBody?.content;
  if (!content) return fc.constant({ kind: 'none' });
  const schema = content['application/json']?.schema ?? content['application/x-www-form-urlencoded']?.schema ?? {};
  const right = arbitraryOf(schema);
  const json = (value: unknown): Attack['body'] => ({ kind: 'json', value });
  return fc.oneof(
    { weight: 3, arbitrary: right.map(json) },
    { weight: 5, arbitrary: right.chain(spoiled).map(json) },
    { weight: 1, arbitrary: fc.jsonValue().map(json) },
    {
      weight: 1,
      arbitrary: fc.string({ unit: 'binary', maxLength: 60 }).map((text) => ({ kind: 'raw' as const, text })),
    },
  );
}

function paths(endpoint: Endpoint): fc.Arbitrary<string> {
  const query = fc.oneof(
    { weight: 3, arbitrary: fc.constant('') },
    {
      weight: 2,
      arbitrary: fc
        .dictionary(
          fc.oneof(
            ...endpoint.operation.parameters.map(({ name }) => fc.constant(name)),
            fc.constantFrom('limit', 'cursor', 'x'),
          ),
          fc.oneof(
            fc.constantFrom('', '0', '-1', '101', '1e9', 'null', '%00', 'a'.repeat(300)),
            fc.string({ maxLength: 20 }),
          ),
          { maxKeys: 3, noNullPrototype: true },
        )
        .map((pairs) => `?${new URLSearchParams(pairs).toString()}`),
    },
  );
  const own =
    endpoint.path.includes('{file}') || NEEDS_RELAY.test(endpoint.path) ? [] : [world.pathOf(endpoint, 'own')];
  const filled = (text: string): string => endpoint.path.replaceAll(/\{\w+\}/g, text);
  const path = fc.oneof(
    ...own.map((one) => fc.constant(one)),
    fc.constantFrom('x', 'rcp_0', '%00', '%F0%9F%A6%84', '..%2f..%2fetc', 'a'.repeat(120), '-1').map(filled),
    fc
      .string({ minLength: 1, maxLength: 30 })
      .map((text) => filled(encodeURIComponent(text) === '.' ? 'x' : encodeURIComponent(text))),
  );
  return fc.tuple(path, query).map(([one, two]) => one + two);
}

function headers(): fc.Arbitrary<Record<string, string>> {
  const printable = fc.stringMatching(/^[ -~]{0,40}$/);
  return fc
    .oneof(
      { weight: 3, arbitrary: fc.constant({}) },
      { weight: 1, arbitrary: printable.map((text) => ({ 'idempotency-key': text })) },
      {
        weight: 1,
        arbitrary: fc
          .constantFrom('wait=0', 'wait=-1', 'wait=x', 'respond-async, wait=0', ',,;')
          .map((prefer) => ({ prefer })),
      },
      {
        weight: 1,
        arbitrary: fc
          .constantFrom('text/plain', 'application/xml', 'application/json; charset=utf-16', 'x')
          .map((type) => ({ 'content-type': type })),
      },
    )
    .map((some: Record<string, string>) => ({
      prefer: 'respond-async',
      ...some,
      ...('prefer' in some && /wait=[^0]|^,/.test(some['prefer'] ?? '')
        ? { prefer: `${some['prefer']}, respond-async` }
        : {}),
    }));
}

test(`${REQUESTS} requests: no 5xx, every answer as described`, async () => {
  const attack = fc
    .constantFrom(...world.endpoints())
    .chain((endpoint) =>
      fc.record({ endpoint: fc.constant(endpoint), path: paths(endpoint), body: bodies(endpoint), headers: headers() }),
    );
  const attacks = fc.sample(attack, { seed: SEED, numRuns: REQUESTS });
  const failures: string[] = [];
  const statuses = new Map<number, number>();
  const worker = async (): Promise<void> => {
    for (let next = attacks.pop(); next; next = attacks.pop()) {
      const status = await attackWith(next, failures);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  expect(failures).toEqual([]);
  // Neither all refused by the same check nor all accepted, or the test would prove little.
  const count = (from: number, to: number): number =>
    [...statuses].reduce((sum, [status, times]) => (status >= from && status <= to ? sum + times : sum), 0);
  const shares = [count(200, 299), count(400, 400), count(404, 404), count(422, 422)];
  expect(shares.every((share) => share >= REQUESTS / 100) ? 'a mixture' : [...statuses]).toBe('a mixture');
  expect(count(429, 429)).toBeLessThan(REQUESTS / 10);
}, 900_000);

/** @returns the status; 0 when the answer was not as described */
async function attackWith({ endpoint, path, body, headers: more }: Attack, failures: string[]): Promise<number> {
  const content = body.kind === 'json' ? { body: body.value } : body.kind === 'raw' ? { raw: body.text } : {};
  const isForm = endpoint.operation.requestBody?.content['application/x-www-form-urlencoded'] !== undefined;
  const form =
    isForm && body.kind === 'json'
      ? { raw: formOf(body.value), headers: { 'content-type': 'application/x-www-form-urlencoded', ...more } }
      : {};
  const label = `${endpoint.method} ${path} ${JSON.stringify(content).slice(0, 400)} ${JSON.stringify(more)}`;
  try {
    const { status, text } = await world.send(endpoint.method, path, {
      ...{ token: world.allScopes, headers: more },
      ...content,
      ...form,
    });
    // No endpoint serves this: answered so on purpose, nothing broke.
    const isExpected = status < 500 || /"code":"(no_device|device_call_pending)"/.test(text);
    if (!isExpected) failures.push(`${status} ${label} ${text.slice(0, 400)}`);
    return status;
  } catch (error) {
    failures.push(`${String(error).slice(0, 600)} ${label}`);
    return 0;
  }
}

function formOf(value: unknown): string {
  const textOf = (one: unknown): string => (typeof one === 'string' ? one : JSON.stringify(one));
  if (typeof value !== 'object' || value === null) return textOf(value);
  return new URLSearchParams(
    Object.entries(value).map(([name, text]): [string, string] => [name, textOf(text)]),
  ).toString();
}
