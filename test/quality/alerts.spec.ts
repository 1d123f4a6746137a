// Promise: every alert can fire, is silent when all is well, and names a section that says what to do and who decides.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { parse, stringify } from 'yaml';

const ROOT = join(import.meta.dirname, '..', '..');
const RULES = join(ROOT, 'ops', 'prometheus');
/** Where docker-compose.yml puts them. */
const IN_CONTAINER = '/etc/prometheus/rules';

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; runbook: string };
}

interface RuleTest {
  alert_rule_test: { alertname: string; exp_alerts: unknown[] }[];
}

const { groups } = read('alerts.yml') as { groups: { name: string; rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const { tests } = read('tests/alerts.test.yml') as { tests: RuleTest[] };

function read(file: string): unknown {
  return parse(readFileSync(join(RULES, file), 'utf8'));
}

/** Null where Debian's package `prometheus` is not installed; under CI it must be. */
function promtool(...args: string[]): { status: number | null; said: string } | null {
  const run = spawnSync('promtool', args, { encoding: 'utf8' });
  if (run.error && process.env['CI'] !== 'true') return null;
  return { status: run.status, said: `${run.stdout}${run.stderr}` };
}

/** By heading, what stands below it. */
function sectionsOf(page: string): Map<string, string> {
  const parts = readFileSync(join(ROOT, page), 'utf8').split(/^#+ /m);
  return new Map(
    parts.map((part) => {
      const [heading = '', ...rest] = part.split('\n');
      const anchor = heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '');
      return [anchor.replaceAll(' ', '-'), rest.join('\n')];
    }),
  );
}

test('there are rules, each with a name of its own', () => {
  expect(rules.length).toBeGreaterThanOrEqual(30);
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
});

test.each(rules.map((rule) => [rule.alert, rule] as const))(
  '%s: a section for it, and both of its tests',
  (name, rule) => {
    expect(rule.for ?? '0m').toMatch(/^\d+[mh]$/);
    expect(['warning', 'critical']).toContain(rule.labels.severity);
    expect(rule.annotations.runbook).toBe(`docs/alarms.md#${name.toLowerCase()}`);
    expect(sectionsOf('docs/alarms.md').get(name.toLowerCase())).toMatch(/^Decides: \S/m);
    const expected = tests.flatMap((each) => each.alert_rule_test.filter(({ alertname }) => alertname === name));
    // One that has several causes is tried with each.
    expect([...new Set(expected.map(({ exp_alerts: alerts }) => alerts.length))].sort()).toEqual([0, 1]);
  },
);

test('promtool accepts the rules, and every test of them succeeds', () => {
  const checked = promtool('check', 'rules', join(RULES, 'alerts.yml'), join(RULES, 'slo.yml'));
  if (checked === null) return;
  expect(checked).toMatchObject({ status: 0 });
  const tested = promtool(
    'test',
    'rules',
    ...['alerts', 'slo'].map((name) => join(RULES, 'tests', `${name}.test.yml`)),
  );
  expect(tested).toMatchObject({ status: 0, said: expect.not.stringContaining('FAILED') });
});

test('promtool accepts the configuration of the observe profile', () => {
  const folder = mkdtempSync(join(tmpdir(), 'config-'));
  // The files of rules stand where the container has them.
  const config = read('prometheus.yml') as { rule_files: string[] };
  expect(config.rule_files.map((file) => dirname(file))).toEqual([IN_CONTAINER, IN_CONTAINER]);
  const local = { ...config, rule_files: config.rule_files.map((file) => join(RULES, basename(file))) };
  writeFileSync(join(folder, 'prometheus.yml'), stringify(local));
  writeFileSync(join(folder, 'broken.yml'), stringify({ ...local, scrape_configs: [{ job: 'no name' }] }));
  // What the page says to add, so that alerts reach a person.
  const page = readFileSync(join(ROOT, 'docs', 'observe.md'), 'utf8');
  const added = parse(/^```yaml\n(alerting:[\s\S]*?)^```/m.exec(page)?.[1] ?? '') as object | null;
  expect([added, Object.keys(config)]).toEqual([
    { alerting: { alertmanagers: [{ static_configs: [{ targets: [expect.any(String)] }] }] } },
    expect.not.arrayContaining(['alerting']),
  ]);
  writeFileSync(join(folder, 'sending.yml'), stringify({ ...local, ...added }));
  const [good, sending, broken] = ['prometheus.yml', 'sending.yml', 'broken.yml'].map((file) =>
    promtool('check', 'config', join(folder, file)),
  );
  rmSync(folder, { recursive: true });
  if (!good || !sending || !broken) return;
  for (const each of [good, sending]) {
    expect(each).toMatchObject({ status: 0, said: expect.stringContaining('SUCCESS') });
  }
  expect(broken.status).not.toBe(0);
});

test('promtool refuses an expression that cannot be read', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rules-'));
  const broken = readFileSync(join(RULES, 'alerts.yml'), 'utf8').replace(
    'max(receipts_ofd_warned) > 0',
    'max(receipts_ofd_warned',
  );
  writeFileSync(join(folder, 'broken.yml'), broken);
  const checked = promtool('check', 'rules', join(folder, 'broken.yml'));
  rmSync(folder, { recursive: true });
  if (checked !== null) expect(checked.status).not.toBe(0);
});
