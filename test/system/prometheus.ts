import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { until } from '../../libs/runtime/src/testing/until.js';

export interface Sample {
  metric: Record<string, string>;
  value: number;
}

/** Debian's Prometheus, as a process of the test's own, that scrapes every second. */
export interface TestPrometheus {
  query(expression: string): Promise<Sample[]>;
  /** Names of all metrics that any target exports, also of those without a sample yet. */
  names(): Promise<Set<string>>;
  stop(): Promise<void>;
}

/**
 * @param targets by job, `host:port`
 * @returns null where the program is not installed; under CI it must be
 */
export async function startPrometheus(
  targets: Readonly<Record<string, readonly string[]>>,
  ruleFiles: readonly string[],
): Promise<TestPrometheus | null> {
  const folder = mkdtempSync(join(tmpdir(), 'fiscal-prometheus-'));
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: ruleFiles,
    scrape_configs: Object.entries(targets).map(([name, addresses]) => ({
      job_name: name,
      static_configs: [{ targets: addresses }],
    })),
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const address = `127.0.0.1:${await freePorts(1)}`;
  const child = spawn(
    'prometheus',
    [
      ...[`--config.file=${join(folder, 'prometheus.yml')}`, `--storage.tsdb.path=${join(folder, 'data')}`],
      ...[`--web.listen-address=${address}`, '--log.level=error'],
    ],
    { stdio: 'ignore', env: { PATH: process.env['PATH'] ?? '', GOMAXPROCS: '1' } },
  );
  const failed = once(child, 'error').then(([error]) => error as NodeJS.ErrnoException);
  const stop = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null) {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  const read = async <T>(path: string): Promise<T> => {
    const response = await fetch(`http://${address}/api/v1/${path}`, { signal: AbortSignal.timeout(20_000) });
    const body = (await response.json()) as { status: string; error?: string; data: T };
    if (body.status !== 'success') throw new Error(`${path}: ${body.error}`);
    return body.data;
  };
  const ready = until(
    'Prometheus is ready',
    () =>
      fetch(`http://${address}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    Boolean,
  );
  const error = await Promise.race([ready.then(() => null), failed]);
  if (error) {
    await stop();
    if (error.code === 'ENOENT' && process.env['CI'] !== 'true') return null;
    throw error;
  }
  return {
    query: async (expression) => {
      type Answer = { result: { metric: Record<string, string>; value: [number, string] }[] };
      const { result } = await read<Answer>(`query?query=${encodeURIComponent(expression)}`);
      return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
    names: async () => new Set(Object.keys(await read<Record<string, unknown>>('metadata'))),
    stop,
  };
}
