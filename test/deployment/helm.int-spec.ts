// Promise: the chart renders, with each of its values, what Kubernetes takes and what the programs run with.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { checkArchiveSettings } from '#ledger';
import { readSettings, STOP_GRACE_MS } from '#runtime';
import { renderChart, valuesWith } from '../../scripts/lib/helm.mjs';
import type { Manifest, Rendered } from '../../scripts/lib/helm.mjs';
import { SETTINGS as RELAY_SETTINGS } from '../../apps/device-relay/src/settings.js';
import { SETTINGS as GATEWAY_SETTINGS } from '../../apps/gateway/src/settings.js';
import { manifestFaults } from './helm/manifest-faults.js';
import { allContainers, environmentOf, podOf, type PodSpec } from './helm/pods.js';
import { every, installed, only, rendersAll, testRendered, upgraded } from './helm/rendered.js';

const ROOT = join(import.meta.dirname, '..', '..');

rendersAll();

testRendered('Kubernetes and its operators know every field, and none is missing', () => {
  const faults = every().map(([name, manifest]) => [
    name,
    manifest.kind,
    manifest.metadata.name,
    manifestFaults(manifest),
  ]);
  expect(faults.filter(([, , , found]) => (found as string[]).length > 0)).toEqual([]);
  expect(new Set(every().map(([, { kind }]) => kind)).size).toBe(15);
});

testRendered('a field that is misspelt, missing or of another type is found', () => {
  const gateway = only('as it comes', 'Deployment', '-gateway');
  const spec = gateway['spec'] as Record<string, unknown>;
  expect(manifestFaults({ ...gateway, spec: { ...spec, replica: 2 } })).toEqual(['/spec/replica is no field']);
  expect(manifestFaults({ ...gateway, spec: { ...spec, replicas: '2' } })).not.toEqual([]);
  expect(manifestFaults({ ...gateway, spec: { replicas: 2 } })).not.toEqual([]);
});

testRendered('names are unique, and as long as Kubernetes allows', () => {
  for (const [name, { manifests }] of [...installed, ...upgraded]) {
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect([name, names]).toEqual([name, [...new Set(names)]]);
    expect(manifests.filter(({ metadata }) => metadata.name.length > 63)).toEqual([]);
  }
});

testRendered('every pod: no root, no token, nothing writable but its volumes, and what it needs', () => {
  for (const [name, manifest] of every()) {
    const pod = podOf(manifest);
    if (!pod) continue;
    expect([name, pod]).toMatchObject([
      name,
      {
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      },
    ]);
    const volumes = pod.volumes.map((volume) => volume.name);
    const claims = (manifest['spec'] as { volumeClaimTemplates?: { metadata: { name: string } }[] })
      .volumeClaimTemplates;
    for (const container of allContainers(pod)) {
      expect(container.securityContext).toEqual({
        ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
      });
      expect(container.resources.limits.memory).toMatch(/Mi$|Gi$/);
      const known = [...volumes, ...(claims ?? []).map((claim) => claim.metadata.name)];
      expect(container.volumeMounts.filter((mount) => !known.includes(mount.name))).toEqual([]);
      const names = container.env.map((each) => each.name);
      expect(names).toEqual([...new Set(names)]);
      const script = container.command.find((word) => word.endsWith('js')) ?? '';
      const source = script.replace(/^dist\//, '').replace(/\.js$/, '.ts');
      expect([script, existsSync(join(ROOT, source))]).toEqual([script, true]);
    }
  }
});

testRendered('the programs take the settings that they are given, and get longer to stop than they need', () => {
  for (const [name, manifest] of every()) {
    const pod = podOf(manifest);
    const container = pod?.containers[0];
    if (!pod || !container || container.name === 'migrate') continue;
    const table = container.name === 'gateway' ? GATEWAY_SETTINGS : RELAY_SETTINGS;
    const given = environmentOf(container);
    const shared = new Set([
      ...Object.keys(GATEWAY_SETTINGS),
      ...Object.keys(RELAY_SETTINGS),
      'APP_PASSWORD',
      'QUEUE_PASSWORD',
      'POD_IP',
    ]);
    expect([name, Object.keys(given).filter((key) => !shared.has(key))]).toEqual([name, []]);
    const settings = readSettings<typeof GATEWAY_SETTINGS | typeof RELAY_SETTINGS>(table, given);
    expect(pod.terminationGracePeriodSeconds! * 1_000).toBeGreaterThan(settings.STOP_DEADLINE_MS + STOP_GRACE_MS);
    expect(container.ports?.map((port) => port.name)).toEqual(['http', 'metrics']);
  }
  const relay = environmentOf(podOf(only('external', 'StatefulSet', '-relay'))!.containers[0]!);
  expect(readSettings(RELAY_SETTINGS, relay).WEBHOOK_KEEP_DAYS).toBe(365);
  const env = environmentOf(podOf(only('operators', 'StatefulSet', '-relay'))!.containers[0]!);
  expect(env['DATABASE_URL']).toBe(
    'postgresql://fiscal_app:secret@shop-receipts-db-rw:5432/fiscal?sslmode=verify-full&sslrootcert=/tls/database/ca.crt',
  );
  expect(env['QUEUE_URL']).toBe('rediss+sentinel://:secret@sentinel-0.redis:26379,sentinel-1.redis:26379/fiscal');
});

testRendered('the archive is written by relays and read by gateways, and only where a claim is named', () => {
  const mounts = (name: string, kind: string, ending: string): unknown[] =>
    (podOf(only(name, kind, ending))?.containers[0]?.volumeMounts ?? []).filter(
      ({ mountPath }) => mountPath === '/archive',
    );
  const settingOf = (name: string, kind: string, ending: string): string | undefined =>
    podOf(only(name, kind, ending))?.containers[0]?.env.find(({ name: key }) => key === 'ARCHIVE_DIR')?.value;
  expect(mounts('external', 'StatefulSet', '-relay')).toEqual([{ name: 'archive', mountPath: '/archive' }]);
  expect(mounts('external', 'Deployment', '-gateway')).toEqual([
    { name: 'archive', mountPath: '/archive', readOnly: true },
  ]);
  for (const [kind, ending] of [
    ['StatefulSet', '-relay'],
    ['Deployment', '-gateway'],
  ] as const) {
    expect(settingOf('external', kind, ending)).toBe('/archive');
    expect(mounts('as it comes', kind, ending)).toEqual([]);
    expect(settingOf('as it comes', kind, ending)).toBeUndefined();
  }
});

testRendered(
  'a bucket is what relays write to and gateways read, with its key from a secret, and both may reach it',
  () => {
    for (const [kind, ending, table, secret] of [
      ['StatefulSet', '-relay', RELAY_SETTINGS, 'bucket'],
      ['Deployment', '-gateway', GATEWAY_SETTINGS, 'bucket-reader'],
    ] as const) {
      const [container] = podOf(only('a bucket', kind, ending))!.containers;
      const settings = readSettings(table, environmentOf(container!));
      expect(settings).toMatchObject({
        ...{ ARCHIVE_DIR: undefined, ARCHIVE_BUCKET: { name: 'fiscal-archive', prefix: 'prod/' } },
        ...{ ARCHIVE_ENDPOINT: 'https://s3.example.uz', ARCHIVE_REGION: 'tas-1' },
      });
      checkArchiveSettings(settings);
      expect(container!.env.filter(({ name }) => /^ARCHIVE_.*KEY/.test(name))).toMatchObject([
        { name: 'ARCHIVE_ACCESS_KEY_ID', valueFrom: { secretKeyRef: { name: secret, key: 'id' } } },
        { name: 'ARCHIVE_SECRET_ACCESS_KEY', valueFrom: { secretKeyRef: { name: secret, key: 'secret' } } },
      ]);
      const policy = JSON.stringify(only('a bucket', 'NetworkPolicy', ending));
      expect(policy).toContain('10.4.0.0/28');
      const ports = JSON.stringify(only('as it comes', 'NetworkPolicy', ending));
      expect(ports.match(/"port":443/g) ?? []).toHaveLength(ending === '-gateway' ? 1 : 0);
    }
  },
);

testRendered('a replica is read by the gateway alone, and only where one is named', () => {
  const name = 'READ_DATABASE_URL';
  const given = every().flatMap(([of, manifest]) =>
    (podOf(manifest) ? allContainers(podOf(manifest)!) : []).flatMap(({ env, name: container }) =>
      env.filter((each) => each.name === name).map(({ valueFrom }) => ({ of, container, valueFrom })),
    ),
  );
  const secret = { secretKeyRef: { name: 'replica', key: 'reads' } };
  const once = { of: 'external', container: 'gateway', valueFrom: secret };
  expect(given).toEqual([once, once]);
});

testRendered(
  'behind a pooler transactions have its address and sessions that of the database, migrations the latter alone',
  () => {
    const urls = (kind: string, ending: string): unknown =>
      podOf(only('external', kind, ending))
        ?.containers[0]?.env.filter(({ name }) => name.endsWith('DATABASE_URL') && !name.startsWith('READ'))
        .map(({ name, valueFrom }) => [name, valueFrom]);
    const secret = (name: string, key: string) => ({ secretKeyRef: { name, key } });
    const direct = secret('postgres', 'app');
    expect(urls('Deployment', '-gateway')).toEqual([
      ['DATABASE_URL', secret('pooler', 'gateway')],
      ['DIRECT_DATABASE_URL', direct],
    ]);
    expect(urls('StatefulSet', '-relay')).toEqual([
      ['DATABASE_URL', secret('pooler', 'relay')],
      ['DIRECT_DATABASE_URL', direct],
    ]);
    const portsTo = (ending: string): number[] =>
      (
        only('external', 'NetworkPolicy', ending)['spec'] as { egress: { ports?: { port: number }[] }[] }
      ).egress.flatMap(({ ports = [] }) => ports.map(({ port }) => port));
    for (const ending of ['-gateway', '-relay']) expect(portsTo(ending)).toEqual(expect.arrayContaining([5433, 6433]));
    const migrations = every().flatMap(([, manifest]) =>
      (podOf(manifest) ? allContainers(podOf(manifest)!) : []).filter(({ name }) => name === 'migrate'),
    );
    expect(migrations.length).toBeGreaterThan(0);
    expect(migrations.flatMap(({ env }) => env.map(({ name }) => name))).not.toContain('DIRECT_DATABASE_URL');
  },
);

testRendered('what selects pods finds some, of its own release', () => {
  for (const [name, { manifests }] of installed) {
    const pods = manifests.flatMap((each) =>
      podOf(each)
        ? [(each['spec'] as { template: { metadata: { labels: Record<string, string> } } }).template.metadata.labels]
        : [],
    );
    const migration: Record<string, string> = { ...pods[0], 'app.kubernetes.io/component': 'migration' };
    for (const { kind, spec, metadata } of manifests) {
      const selector =
        kind === 'Service' ? spec.selector : (spec?.selector?.matchLabels ?? spec?.podSelector?.matchLabels);
      if (selector === undefined || kind === 'ServiceMonitor') continue;
      const finds = [...pods, migration].filter((labels) =>
        Object.entries(selector as object).every(([key, value]) => labels[key] === value),
      );
      expect([name, kind, metadata.name, finds.length]).toEqual([name, kind, metadata.name, 1]);
    }
  }
});

testRendered('the database is migrated before an upgrade, and where no job can run first beside the programs', () => {
  const initsOf = (rendered: Rendered): number =>
    rendered.manifests.filter((each) => podOf(each)?.initContainers !== undefined).length;
  const jobsOf = (rendered: Rendered): Manifest[] => rendered.manifests.filter(({ kind }) => kind === 'Job');
  const before = { 'helm.sh/hook': 'pre-upgrade' };
  expect([initsOf(installed.get('external')!), jobsOf(installed.get('external')!)]).toEqual([2, []]);
  expect(initsOf(upgraded.get('external')!)).toBe(0);
  expect(jobsOf(upgraded.get('external')!)).toEqual([
    expect.objectContaining({ metadata: expect.objectContaining({ annotations: expect.objectContaining(before) }) }),
  ]);
  expect(jobsOf(installed.get('operators')!)[0]?.metadata.annotations).toMatchObject({
    'argocd.argoproj.io/hook': 'Sync',
  });
  const always = 'one pair of small things';
  expect([initsOf(installed.get(always)!), initsOf(upgraded.get(always)!)]).toEqual([2, 2]);
  const job = valuesWith({ migration: { mode: 'job' } });
  const [first, next, none] = renderChart([
    ...[{ values: job }, { values: job, isUpgrade: true }],
    { values: valuesWith({ migration: { mode: 'none' } }), isUpgrade: true },
  ]);
  // With --wait a hook of the install would come after programs that wait for it.
  expect([jobsOf(first!)[0]?.metadata.name, jobsOf(first!)[0]?.metadata.annotations]).toEqual([
    'shop-fiscal-gateway-migrate-1',
    undefined,
  ]);
  expect(jobsOf(next!)[0]?.metadata.annotations).toMatchObject(before);
  expect([initsOf(none!), jobsOf(none!)]).toEqual([0, []]);
});

testRendered('as a hook of Argo CD the migration comes after all that its pod needs, and before the programs', () => {
  const database = { mode: 'cloudnativepg', cloudnativepg: {} };
  const [rendered, byHelm] = renderChart([
    { values: valuesWith({ database, migration: { mode: 'job', hook: 'argocd' } }) },
    { values: valuesWith({ database, migration: { mode: 'job' } }) },
  ]);
  const WAVE = 'argocd.argoproj.io/sync-wave';
  const waveOf = ({ metadata }: Manifest): number => Number(metadata.annotations?.[WAVE] ?? 0);
  const job = rendered!.manifests.find(({ kind }) => kind === 'Job')!;
  const { labels } = (job['spec'] as { template: { metadata: { labels: Record<string, string> } } }).template.metadata;
  const { serviceAccountName, volumes } = podOf(job) as PodSpec & { serviceAccountName: string };
  const cluster = rendered!.manifests.find(({ kind }) => kind === 'Cluster')!;
  // The operator makes both from the cluster.
  const made = ['app', 'ca'].map((name) => `${cluster.metadata.name}-${name}`);
  const wants = JSON.stringify([volumes, podOf(job)!.containers]);
  for (const secret of made) expect(wants).toContain(`"${secret}"`);
  const isNeeded = ({ kind, metadata, spec }: Manifest): boolean => {
    if (kind === 'ServiceAccount') return metadata.name === serviceAccountName;
    if (kind !== 'NetworkPolicy') return kind === 'Cluster';
    const { podSelector } = spec as { podSelector: { matchLabels: Record<string, string> } };
    return Object.entries(podSelector.matchLabels).every(([key, value]) => labels[key] === value);
  };
  const needed = rendered!.manifests.filter(isNeeded);
  expect(needed.map(({ kind }) => kind).sort()).toEqual(['Cluster', 'NetworkPolicy', 'ServiceAccount']);
  const late = needed.filter((each) => waveOf(each) >= waveOf(job));
  expect(late.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
  const programs = rendered!.manifests.filter((each) => ['Deployment', 'StatefulSet'].includes(each.kind));
  expect(programs.filter((each) => waveOf(each) <= waveOf(job))).toEqual([]);
  expect(JSON.stringify(byHelm!.manifests)).not.toContain('argocd.argoproj.io');
});

testRendered('a cluster of this chart that takes fewer connections than its programs open is refused', () => {
  const render = (values: object): (() => Rendered[]) => {
    const { database = {}, ...others } = values as { database?: object };
    return () => renderChart([{ values: valuesWith({ ...others, database: { mode: 'cloudnativepg', ...database } }) }]);
  };
  const scaled = { gateway: { autoscaling: { enabled: true } }, relay: { keda: { enabled: true } } };
  expect(render({})).not.toThrow();
  expect(render(scaled)).toThrow('max_connections is 300: 21 gateways and relays open up to 661');
  const takes = (count: number): object => ({ cloudnativepg: { parameters: { max_connections: String(count) } } });
  expect(render({ ...scaled, database: takes(660) })).toThrow('661');
  expect(render({ ...scaled, database: takes(661) })).not.toThrow();
  expect(render({ ...scaled, database: { pooler: { existingSecret: 'pooler' } } })).not.toThrow();
  expect(render({ relay: { replicas: 7 } })).toThrow('10 gateways and relays open up to 320');
});

interface IngressSpec {
  rules: { host: string; http: { paths: { path: string; backend: { service: { name: string } } }[] } }[];
}

function routesOf(
  name: string,
  ending: string,
): { host: string; paths: string[]; annotations: Record<string, string> } {
  const { metadata, spec } = only(name, 'Ingress', ending);
  const [rule] = (spec as IngressSpec).rules;
  return { host: rule!.host, paths: rule!.http.paths.map(({ path }) => path), annotations: metadata.annotations ?? {} };
}

testRendered('an ingress leads to routes that there are, and to none of the probes and metrics', () => {
  const api = JSON.parse(readFileSync(join(ROOT, 'docs', 'openapi.json'), 'utf8')) as { paths: object };
  const known = Object.keys(api.paths);
  const { paths } = routesOf('one pair of small things', 'fiscal');
  expect(paths.filter((path) => !known.some((each) => each === path || each.startsWith(`${path}/`)))).toEqual([]);
  const isLed = (route: string): boolean => paths.some((path) => route === path || route.startsWith(`${path}/`));
  expect(known.filter((route) => !isLed(route)).sort()).toEqual(['/healthz', '/metrics', '/readyz']);
});

testRendered('with certificates of callers the API is on a host of its own, and on no other', () => {
  const verified = { 'nginx.ingress.kubernetes.io/auth-tls-verify-client': 'on' };
  for (const ending of ['-api', '-imports']) {
    expect(routesOf('external', ending)).toMatchObject({ host: 'api.shop.example.uz', annotations: verified });
  }
  const open = routesOf('external', 'fiscal');
  expect(open).toMatchObject({ host: 'receipts.shop.example.uz', paths: ['/r', '/m', '/u', '/v1/providers'] });
  expect(open.annotations).not.toMatchObject(verified);
  expect(routesOf('external', '-console').host).toBe('console.shop.example.uz');
  expect(routesOf('external', '-link')).toMatchObject({ host: open.host, paths: ['/link'] });
});

testRendered('what observes gets the files of ops/, and jobs by the names that the alerts know', () => {
  for (const name of ['slo', 'alerts']) {
    const rule = only('external', 'PrometheusRule', `-${name}`);
    expect(rule['spec']).toEqual(parse(readFileSync(join(ROOT, 'ops', 'prometheus', `${name}.yml`), 'utf8')));
  }
  const dashboard = only('external', 'ConfigMap', '-dashboard-overview')['data'] as Record<string, string>;
  expect(dashboard['overview.json']?.trim()).toBe(
    readFileSync(join(ROOT, 'ops', 'grafana', 'overview.json'), 'utf8').trim(),
  );
  const { jobLabel } = only('external', 'ServiceMonitor', '')['spec'] as { jobLabel: string };
  const jobs = ['-gateway', '-relay'].map((ending) => only('external', 'Service', ending).metadata.labels?.[jobLabel]);
  expect(jobs).toEqual(['fiscal-gateway', 'fiscal-device-relay']);
});
