import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { startPrometheus, type TestPrometheus } from './prometheus.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const RULES = join(import.meta.dirname, '..', '..', 'ops', 'prometheus');

/**
 * A test cannot wait for an hour: every span of time in the rules is divided by this, so that a minute of the rules is three seconds of
 * the test. Prometheus scrapes and evaluates every second, which is to 15 s as the test is to the rules.
 */
export const TIMES_SHORTER = 20;

const MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Shorter ones are not for how long something has lasted, but how slow something is. */
const SHORTEST_AGE_S = 60;

/**
 * The rules as they are shipped, on another scale of time: spans of ranges, `for:` and `interval:`, and for how long something must have
 * lasted (`…_seconds) > 600`). Nothing else is changed: shares, counts, names and labels are those of the file.
 */
export function shortened(rules: string): string {
  return rules
    .replace(
      /(?<=\[|for: |interval: )(\d+)([smhd])\b/g,
      (_span, count: string, unit: keyof typeof MS) => `${String((Number(count) * MS[unit]) / TIMES_SHORTER)}ms`,
    )
    .replace(/(?<=_seconds\) > )\d+(?: \* \d+)?$/gm, (age) =>
      age.split(' * ').reduce((product, factor) => product * Number(factor), 1) < SHORTEST_AGE_S
        ? age
        : `${age} / ${String(TIMES_SHORTER)}`,
    );
}

/** Which file breaks what makes them true. A new alert goes into one of these lists or into `NOT_SEEN`. */
export const SEEN_IN = {
  'alerts-registers.e2e-spec.ts': [
    'RegisterBudgetFast',
    'RegisterBudgetSteady',
    'RegisterBudgetSlow',
    'NoPlacesLeft',
    'LaneTooLong',
    'ReceiptsWaitTooLong',
    'ReceiptsForgotten',
    'DeviceUnreachable',
    'FleetUnreachable',
    'DeviceMemoryNearlyFull',
    'DeviceClockApart',
    'DeviceFuseShort',
    'ShiftOpenTooLong',
    'OfdDeadlineWarning',
    'OfdDeadlineAlarm',
    'ReceiptsUnknown',
    'UnknownTooLong',
    'DeviceStopped',
    'SubscriptionEnding',
    'ArchiveBehind',
    'PartitionsBehind',
    'QueueDown',
    'EventLoopBlocked',
    'ProgramRestarts',
    'NoRelay',
    'NoGateway',
    'ProgramDown',
  ],
  'alerts-callers.e2e-spec.ts': [
    'AcceptBudgetFast',
    'AcceptBudgetSteady',
    'AcceptBudgetSlow',
    'AcceptingStuck',
    'OutcomesUnclear',
    'ApiErrors',
    'PoolWaits',
    'ReplicaNotRead',
    'OldTransaction',
    'EventsHeldUp',
    'ProviderFailing',
    'PaymentsForPerson',
    'ProviderKeysRefused',
    'WebhooksFailing',
    'MessagesFailing',
    'ClocksApart',
    'SignaturesRefused',
    'TokensRefused',
    'RightsRefused',
    'CallersLimited',
  ],
} as const;

/** Alerts that no test makes true on a live system, each with its reason. */
export const NOT_SEEN: Readonly<Record<string, string>> = {};

export function shippedAlerts(): string[] {
  const { groups } = parse(readFileSync(join(RULES, 'alerts.yml'), 'utf8')) as {
    groups: { rules: { alert: string }[] }[];
  };
  return groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
}

const DEADLINE_MS = 150_000;

/** The shipped rules in a Prometheus of the test's own that scrapes running programs. */
export class LiveAlerts {
  /** Were not true, and became true when something broke. */
  readonly seen = new Set<string>();

  private constructor(
    private readonly prometheus: TestPrometheus,
    private readonly folder: string,
  ) {}

  /** @param targets by job, URLs of metrics. @returns null where Prometheus is not installed; under CI it must be */
  static async start(targets: Readonly<Record<string, readonly string[]>>): Promise<LiveAlerts | null> {
    const folder = mkdtempSync(join(tmpdir(), 'fiscal-rules-'));
    const files = ['slo.yml', 'alerts.yml'].map((name) => {
      const file = join(folder, name);
      writeFileSync(file, shortened(readFileSync(join(RULES, name), 'utf8')));
      return file;
    });
    const addresses = Object.entries(targets).map(
      ([job, urls]) => [job, urls.map((url) => new URL(url).host)] as const,
    );
    const prometheus = await startPrometheus(Object.fromEntries(addresses), files);
    if (prometheus) return new LiveAlerts(prometheus, folder);
    rmSync(folder, { recursive: true, force: true });
    return null;
  }

  /** Everything has been read, and nothing is wrong with it. */
  async allQuiet(names: readonly string[]): Promise<void> {
    await until(
      'all programs are scraped and the rules evaluated',
      () => this.prometheus.query('min(up) == 1 and on () slo:register:errors:ratio_rate5m'),
      ({ length }) => length > 0,
    );
    await this.areQuiet(names);
  }

  /**
   * What is broken makes these true, each at some time, and none was true just before.
   * @param meanwhile again and again until all were true
   */
  async become(
    names: readonly string[],
    breaks: () => Promise<unknown>,
    meanwhile: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<void> {
    await this.areQuiet(names);
    const brokenMs = performance.now();
    await breaks();
    const missing = async (): Promise<string[]> => {
      await meanwhile();
      // What was true for a moment counts, however seldom this asks.
      const sinceS = Math.ceil((performance.now() - brokenMs) / 1_000) + 1;
      const found = await this.found(names, `max_over_time(ALERTS{}[${String(sinceS)}s])`);
      return names.filter((name) => !found.has(name));
    };
    await until(`these are true: ${names.join(', ')}`, missing, ({ length }) => length === 0, DEADLINE_MS);
    for (const name of names) this.seen.add(name);
  }

  query(expression: string): ReturnType<TestPrometheus['query']> {
    return this.prometheus.query(expression);
  }

  async stop(): Promise<void> {
    await this.prometheus.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private areQuiet(names: readonly string[]): Promise<unknown> {
    return until(
      'nothing is true yet',
      () => this.found(names, 'ALERTS{}'),
      ({ size }) => size === 0,
    );
  }

  /** Of these, pending or firing: `for:` is a matter of time, which promtool's tests judge. */
  private async found(names: readonly string[], query: string): Promise<Set<string>> {
    const samples = await this.prometheus.query(query.replace('{}', `{alertname=~"${names.join('|')}"}`));
    return new Set(samples.map(({ metric }) => metric['alertname'] ?? ''));
  }
}
