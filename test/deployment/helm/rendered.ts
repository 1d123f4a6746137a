import { canRender, readYaml, renderChart, valuesWith } from '../../../scripts/lib/helm.mjs';
import type { Manifest, Rendered, Values } from '../../../scripts/lib/helm.mjs';

export const CASES: Readonly<Record<string, Values>> = {
  'as it comes': {},
  external: readYaml('ci/external.yaml') as Values,
  operators: readYaml('ci/operators.yaml') as Values,
  'a bucket': {
    archive: {
      bucket: {
        ...{ name: 'fiscal-archive/prod', endpoint: 'https://s3.example.uz', region: 'tas-1' },
        ...{
          existingSecret: 'bucket',
          gatewaySecret: 'bucket-reader',
          accessKeyIdKey: 'id',
          secretAccessKeyKey: 'secret',
        },
      },
    },
    networkPolicy: { archive: { to: [{ ipBlock: { cidr: '10.4.0.0/28' } }], port: 9000 } },
  },
  // What a case of its own shows.
  'one pair of small things': {
    fullnameOverride: 'fiscal',
    ingress: { enabled: true },
    migration: { mode: 'init' },
    database: { mode: 'cloudnativepg', cloudnativepg: { synchronousReplicas: 0, instances: 1 } },
    queue: { mode: 'sentinel', sentinel: { hosts: ['redis:26379'] } },
  },
};

// For a developer without Go and Debian's libraries of it; CI has them, or fails.
const mayRun = canRender() || process.env['CI'] === 'true';
export const testRendered = mayRun ? test : test.skip;

export const installed = new Map<string, Rendered>();
export const upgraded = new Map<string, Rendered>();

/** All cases, of a new installation and of one that is there; for all tests of the file that calls it. */
export function rendersAll(): void {
  beforeAll(() => {
    if (!mayRun) return;
    const names = Object.keys(CASES);
    const values = Object.values(CASES).map((others) => valuesWith(others));
    const rendered = renderChart(
      [...values, ...values].map((each, at) => ({ values: each, isUpgrade: at >= names.length })),
    );
    names.forEach((name, at) => {
      installed.set(name, rendered[at]!);
      upgraded.set(name, rendered[at + names.length]!);
    });
  });
}

export function every(): [string, Manifest][] {
  return [...installed, ...upgraded].flatMap(([name, { manifests }]) =>
    manifests.map((manifest): [string, Manifest] => [name, manifest]),
  );
}

export function only(name: string, kind: string, ending: string, from = installed): Manifest {
  const found = from.get(name)?.manifests.filter((each) => each.kind === kind && each.metadata.name.endsWith(ending));
  expect([name, kind, ending, found?.length]).toEqual([name, kind, ending, 1]);
  return found![0]!;
}
