import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '..', '..');

export interface ComposeService {
  image: string;
  build?: string;
  command?: string[];
  environment?: Record<string, string>;
  healthcheck?: { test?: string[]; disable?: boolean };
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

/** docker-compose.yml with its anchors merged; `${…}` stays as written. */
export function readComposeFile(): ComposeFile {
  return parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }) as ComposeFile;
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
