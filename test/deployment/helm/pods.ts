import type { Manifest } from '../../../scripts/lib/helm.mjs';

export interface Container {
  name: string;
  image: string;
  command: string[];
  env: { name: string; value?: string; valueFrom?: unknown }[];
  securityContext: object;
  resources: { requests: object; limits: { memory: string } };
  volumeMounts: { name: string; mountPath: string }[];
  ports?: { name: string }[];
}

export interface PodSpec {
  containers: Container[];
  initContainers?: Container[];
  volumes: { name: string }[];
  terminationGracePeriodSeconds?: number;
}

export function podOf({ kind, spec }: Manifest): PodSpec | null {
  return ['Deployment', 'StatefulSet', 'Job'].includes(kind)
    ? (spec as { template: { spec: PodSpec } }).template.spec
    : null;
}

export function allContainers(pod: PodSpec): Container[] {
  return [...pod.containers, ...(pod.initContainers ?? [])];
}

/** What a program would get, its secrets stood in for. */
export function environmentOf({ env }: Container): Record<string, string> {
  const standIns: Record<string, string> = {
    DATABASE_URL: 'postgresql://u:p@db/fiscal',
    DIRECT_DATABASE_URL: 'postgresql://u:p@db/fiscal',
    READ_DATABASE_URL: 'postgresql://u:p@replica/fiscal',
    QUEUE_URL: 'redis://queue',
    SECRETS_KEY: Buffer.alloc(32).toString('base64'),
  };
  const values: Record<string, string> = {};
  for (const { name, value } of env) {
    const known = value ?? standIns[name] ?? 'secret';
    values[name] = known.replace(/\$\(([A-Z_]+)\)/g, (whole, other: string) => values[other] ?? whole);
  }
  return values;
}
