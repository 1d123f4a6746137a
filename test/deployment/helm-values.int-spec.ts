// Promise: the chart's schema takes its own values and refuses what would start nothing, and each value is described and changes something.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { CHART, readYaml, renderChart, valuesWith } from '../../scripts/lib/helm.mjs';
import type { Rendered, Values } from '../../scripts/lib/helm.mjs';
import { CASES, installed, rendersAll, testRendered, upgraded } from './helm/rendered.js';

interface SchemaNode {
  $ref?: string;
  type?: string;
  description?: string;
  properties?: Record<string, SchemaNode>;
  definitions?: Record<string, SchemaNode>;
}

const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as SchemaNode;
const valid = new Ajv({ strict: false }).compile(schema);

rendersAll();

test('every set of values satisfies the schema', () => {
  for (const [name, others] of Object.entries(CASES))
    expect([name, valid(valuesWith(others)), valid.errors]).toEqual([name, true, null]);
});

test.each<[string, Values]>([
  ['a key that is none', { gatway: {} }],
  ['a key that is none, further down', { relay: { replica: 2 } }],
  ['no gateway', { gateway: { replicas: 0 } }],
  ['no relay at night', { relay: { keda: { minReplicas: 0 } } }],
  ['root', { podSecurity: { runAsUser: 0 } }],
  ['a digest that is none', { image: { digest: 'latest' } }],
  ['a setting that the chart writes itself', { settings: { DATABASE_URL: 'postgresql://u:p@h/d' } }],
  ['a replica beside the value for it', { gateway: { settings: { READ_DATABASE_URL: 'postgresql://u:p@h/d' } } }],
  ['a setting that is one of the relays now', { gateway: { settings: { WEBHOOK_KEEP_DAYS: 365 } } }],
  ['a setting in small letters', { gateway: { settings: { log_level: 'info' } } }],
  ['sentinels without hosts', { queue: { mode: 'sentinel' } }],
  ['certificates of callers without an ingress', { ingress: { mtls: { enabled: true } } }],
  ['a key without a bucket', { archive: { bucket: { existingSecret: 'bucket' } } }],
  ['a claim beside a bucket', { archive: { existingClaim: 'old', bucket: { name: 'fiscal-archive' } } }],
  ['another database', { database: { mode: 'sqlite' } }],
])('refused: %s', (_what, others) => {
  expect(valid(valuesWith(others))).toBe(false);
});

/** Paths of values, to where the schema ends or takes any key. */
function leaves(node: SchemaNode, path: readonly string[] = []): string[][] {
  const { $ref } = node;
  if ($ref !== undefined) return leaves(schema.definitions![$ref.split('/').at(-1)!]!, path);
  if (!node.properties) return [[...path]];
  return Object.entries(node.properties).flatMap(([key, below]) => leaves(below, [...path, key]));
}

function at(values: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Values | undefined)?.[key], values);
}

/** Without one value, as if the person had not written it. */
function without(values: Values, [key = '', ...rest]: readonly string[]): Values {
  const { [key]: value, ...others } = values;
  return rest.length === 0 ? others : { ...others, [key]: without(value as Values, rest) };
}

test('every value has a default and a description', () => {
  const defaults = readYaml('values.yaml') as Values;
  const undescribed = (node: SchemaNode, path: string): string[] =>
    Object.entries(node.properties ?? {}).flatMap(([key, below]) => [
      ...(below.description !== undefined || below.properties || below.$ref !== undefined ? [] : [`${path}.${key}`]),
      ...undescribed(below, `${path}.${key}`),
    ]);
  expect(undescribed(schema, '')).toEqual([]);
  const paths = leaves(schema).filter((path) => path[0] !== 'global' && !path.includes('resources'));
  expect(paths.filter((path) => at(defaults, path) === undefined)).toEqual([]);
});

testRendered('every value changes what is rendered', () => {
  const asks = leaves(schema)
    .filter(([first]) => first !== 'global')
    .map((path) => ({ path, set: Object.entries(CASES).filter(([, values]) => at(values, path) !== undefined) }));
  expect(asks.filter(({ set }) => set.length === 0).map(({ path }) => path.join('.'))).toEqual([]);
  const flat = asks.flatMap(({ path, set }) => set.map(([name, values]) => ({ path, name, values })));
  const rendered = renderChart(
    flat.flatMap(({ path, values }) =>
      [false, true].map((isUpgrade) => ({ values: valuesWith(without(values, path)), isUpgrade })),
    ),
  );
  const text = (one: Rendered | undefined): string => JSON.stringify(one?.files);
  const changing = new Set<string>();
  flat.forEach(({ path, name }, index) => {
    const isSame =
      text(rendered[2 * index]) === text(installed.get(name)) &&
      text(rendered[2 * index + 1]) === text(upgraded.get(name));
    if (!isSame) changing.add(path.join('.'));
  });
  expect(asks.map(({ path }) => path.join('.')).filter((path) => !changing.has(path))).toEqual([]);
});
