import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '..', '..');

export interface ComposeService {
  image: string;
  build?: { context: string; args: Record<string, string> };
  command?: string[];
  entrypoint?: string[];
  environment?: Record<string, string>;
  healthcheck?: { test?: string[]; disable?: boolean; start_period?: string };
  stop_grace_period?: string;
  volumes?: string[];
  ports?: string[];
  profiles?: string[];
  user?: string;
  tmpfs?: string[];
  pids_limit?: number;
  deploy?: { resources?: { limits?: Record<string, unknown> } };
}

export interface ComposeFile {
  services: Record<string, ComposeService>;
  volumes?: Record<string, unknown>;
}

/** A compose file with its anchors merged; `${…}` stays as written. */
export function readComposeFile(name = 'docker-compose.yml'): ComposeFile {
  return parse(readFileSync(join(ROOT, name), 'utf8'), { merge: true }) as ComposeFile;
}

/** One file over another, as `docker compose -f … -f …` puts them together: settings one by one, volumes by their place, commands whole. */
export function mergedComposeFile(base: ComposeFile, over: ComposeFile): ComposeFile {
  const services = { ...base.services };
  for (const [name, more] of Object.entries(over.services)) {
    const known = services[name];
    if (!known) throw new Error(`${name} is not in the file below`);
    services[name] = {
      ...known,
      ...more,
      environment: { ...known.environment, ...more.environment },
      healthcheck: { ...known.healthcheck, ...more.healthcheck },
      volumes: [...(known.volumes ?? []), ...(more.volumes ?? [])],
    };
  }
  return { ...base, services };
}

/** Resolves `${NAME}`, `${NAME:-default}` and `${NAME:?message}` the way docker compose does. */
export function interpolate(text: string, variables: Record<string, string>): string {
  return text.replace(/\$\{([A-Z_]+)(?::([-?])([^}]*))?\}/g, (_whole, name: string, kind?: string, rest?: string) => {
    const value = variables[name] ?? '';
    if (value !== '') return value;
    if (kind === '?') throw new Error(rest);
    return rest ?? '';
  });
}
