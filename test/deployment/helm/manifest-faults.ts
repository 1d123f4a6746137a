import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Manifest } from '../../../scripts/lib/helm.mjs';

const MODULES = join(import.meta.dirname, '..', '..', '..', 'node_modules');

/** Where kubernetes-models keeps the compiled schema of each kind; its classes copy what they validate. */
const SCHEMAS: Readonly<Record<string, string>> = {
  'v1 ConfigMap': 'kubernetes-models/_schemas/IoK8sApiCoreV1ConfigMap.js',
  'v1 Service': 'kubernetes-models/_schemas/IoK8sApiCoreV1Service.js',
  'v1 ServiceAccount': 'kubernetes-models/_schemas/IoK8sApiCoreV1ServiceAccount.js',
  'apps/v1 Deployment': 'kubernetes-models/_schemas/IoK8sApiAppsV1Deployment.js',
  'apps/v1 StatefulSet': 'kubernetes-models/_schemas/IoK8sApiAppsV1StatefulSet.js',
  'autoscaling/v2 HorizontalPodAutoscaler':
    'kubernetes-models/_schemas/IoK8sApiAutoscalingV2HorizontalPodAutoscaler.js',
  'batch/v1 Job': 'kubernetes-models/_schemas/IoK8sApiBatchV1Job.js',
  'networking.k8s.io/v1 Ingress': 'kubernetes-models/_schemas/IoK8sApiNetworkingV1Ingress.js',
  'networking.k8s.io/v1 NetworkPolicy': 'kubernetes-models/_schemas/IoK8sApiNetworkingV1NetworkPolicy.js',
  'policy/v1 PodDisruptionBudget': 'kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget.js',
  'keda.sh/v1alpha1 ScaledObject': '@kubernetes-models/keda/_schemas/KedaShV1alpha1ScaledObject.js',
  'monitoring.coreos.com/v1 PrometheusRule':
    '@kubernetes-models/prometheus-operator/_schemas/MonitoringCoreosComV1PrometheusRule.js',
  'monitoring.coreos.com/v1 ServiceMonitor':
    '@kubernetes-models/prometheus-operator/_schemas/MonitoringCoreosComV1ServiceMonitor.js',
  'postgresql.cnpg.io/v1 Cluster': '@kubernetes-models/cloudnative-pg/_schemas/PostgresqlCnpgIoV1Cluster.js',
  'postgresql.cnpg.io/v1 ScheduledBackup':
    '@kubernetes-models/cloudnative-pg/_schemas/PostgresqlCnpgIoV1ScheduledBackup.js',
};

interface Validate {
  (data: unknown): boolean;
  errors?: { instancePath: string; message?: string; keyword: string; params: unknown }[] | null;
}

const require = createRequire(import.meta.url);

/** What an API server would refuse, or drop: wrong types, missing fields, and keys that the kind does not have. */
export function manifestFaults(manifest: Manifest): string[] {
  const name = `${manifest.apiVersion} ${manifest.kind}`;
  const file = SCHEMAS[name];
  if (file === undefined) return [`${name} is not known here`];
  const { validate } = require(join(MODULES, file)) as { validate: Validate };
  const watched = new WatchedReads();
  const isValid = validate(watched.of(manifest));
  const faults = (validate.errors ?? []).map(
    ({ instancePath, keyword, params }) => `${instancePath} ${keyword} ${JSON.stringify(params)}`,
  );
  return isValid ? watched.unread(manifest, '') : faults;
}

/** A compiled schema reads every key that it knows, and no other: what was not read is misspelt. */
class WatchedReads {
  private readonly reads = new WeakMap<object, Set<string>>();
  private readonly proxies = new WeakMap<object, object>();

  of(value: object): object {
    const known = this.proxies.get(value);
    if (known) return known;
    const keys = new Set<string>();
    this.reads.set(value, keys);
    const proxy = new Proxy(value, {
      get: (target, key) => {
        if (typeof key === 'string') keys.add(key);
        const found: unknown = Reflect.get(target, key);
        return typeof found === 'object' && found !== null ? this.of(found) : found;
      },
    });
    this.proxies.set(value, proxy);
    return proxy;
  }

  unread(value: object, path: string): string[] {
    const keys = this.reads.get(value) ?? new Set();
    return Object.entries(value).flatMap(([key, below]: [string, unknown]) => {
      const here = `${path}/${key}`;
      if (!Array.isArray(value) && !keys.has(key)) return [`${here} is no field`];
      return typeof below === 'object' && below !== null ? this.unread(below, here) : [];
    });
  }
}
