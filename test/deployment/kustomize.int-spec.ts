// Promise: the example for kustomize is what the chart renders, and changes what there is.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { parse, parseAllDocuments } from 'yaml';
import { canRender, CHART, renderChart, valuesWith } from '../../scripts/lib/helm.mjs';
import type { Manifest, Values } from '../../scripts/lib/helm.mjs';
import { manifestFaults } from './helm/manifest-faults.js';
import { podOf } from './helm/pods.js';

const ROOT = join(import.meta.dirname, '..', '..');
const mayRun = canRender() || process.env['CI'] === 'true';
const testRendered = mayRun ? test : test.skip;

testRendered('the base of the kustomize example is what the chart renders', () => {
  const folder = join(ROOT, 'ops', 'kustomize', 'base');
  const values = valuesWith(parse(readFileSync(join(folder, 'values.yaml'), 'utf8')) as Values);
  const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as object;
  expect(new Ajv({ strict: false }).validate(schema, values)).toBe(true);
  const [rendered] = renderChart([{ values }]);
  const written = parseAllDocuments(readFileSync(join(folder, 'fiscal-gateway.yaml'), 'utf8'));
  // Else: node scripts/helm-base.mjs
  expect(written.map((document) => document.toJS() as unknown)).toEqual(rendered!.manifests);
});

test('the kustomize example changes what its base has', () => {
  const folder = join(ROOT, 'ops', 'kustomize');
  const base = parseAllDocuments(readFileSync(join(folder, 'base', 'fiscal-gateway.yaml'), 'utf8')).map(
    (document) => document.toJS() as Manifest,
  );
  const example = parse(readFileSync(join(folder, 'production', 'kustomization.yaml'), 'utf8')) as {
    images: { name: string }[];
    replicas: { name: string }[];
    patches: { path: string }[];
  };
  const images = base.flatMap((each) => podOf(each)?.containers ?? []).map(({ image }) => image.split(':')[0]);
  expect(example.images.filter(({ name }) => !images.includes(name))).toEqual([]);
  const names = base.filter((each) => podOf(each)).map(({ metadata }) => metadata.name);
  expect(example.replicas.map(({ name }) => name)).toEqual(names);
  for (const { path } of example.patches) {
    const patch = parse(readFileSync(join(folder, 'production', path), 'utf8')) as Manifest;
    const target = base.find(({ kind, metadata }) => kind === patch.kind && metadata.name === patch.metadata.name);
    const patched = podOf(patch)?.containers.map(({ name }) => name);
    expect(podOf(target!)?.containers.map(({ name }) => name)).toEqual(patched);
  }
  // Debian's kubectl is too old for it; where there is a newer one, it says so itself.
  const built = spawnSync('kubectl', ['kustomize', join(folder, 'production')], { encoding: 'utf8' });
  const isNew = /Kustomize Version: v[5-9]/.test(
    spawnSync('kubectl', ['version', '--client'], { encoding: 'utf8' }).stdout ?? '',
  );
  if (!isNew) return;
  const manifests = parseAllDocuments(built.stdout).map((document) => document.toJS() as Manifest);
  expect(manifests.flatMap(manifestFaults)).toEqual([]);
  expect(built.stdout).toContain('registry.example.uz/fiscal/receipt-gateway:0.1.0');
});
