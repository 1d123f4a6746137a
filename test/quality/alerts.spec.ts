// Promise: every alert rule can fire: it is well formed, asks for metrics that the programs have, and names a page that helps.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '..', '..');

interface Rule {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: { summary: string; runbook: string };
}

const file = parse(readFileSync(join(ROOT, 'ops', 'prometheus-alerts.yml'), 'utf8')) as {
  groups: { name: string; rules: Rule[] }[];
};
const rules = file.groups.flatMap((group) => group.rules);
const names = metricNames();

/** Names given to `metrics.gauge`, `counter` and `durations`, wherever programs and libs register them. */
function metricNames(): Set<string> {
  const sources = ['apps', 'libs'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /metrics?\.ts$/.test(path))
      .map((path) => readFileSync(join(ROOT, folder, path), 'utf8')),
  );
  const found = sources.flatMap((text) =>
    [...text.matchAll(/(?:name: |\[|perDevice\(\s*|ofFleet\(\s*)'([a-z_]+)'/g)].map(([, name]) => name ?? ''),
  );
  return new Set(found);
}

/** What an expression asks for: identifiers that are neither functions, nor keywords, nor labels. */
function metricsOf(expr: string): string[] {
  // Labels and what is grouped by are no metrics.
  const bare = expr.replace(/\{[^}]*\}|\[[^\]]*\]/g, '').replace(/\b(by|without)\s*\([^)]*\)/g, '');
  const words = [...bare.matchAll(/[a-z_]+(?=(\s*\()?)/g)];
  return (
    words
      .filter(([, call]) => call === undefined)
      // A histogram is asked for its sums, counts and buckets.
      .map(([word]) => word.replace(/_(sum|count|bucket)$/, ''))
      .filter((word) => !FUNCTIONS.has(word))
  );
}

const FUNCTIONS = new Set(['max', 'min', 'avg', 'sum', 'absent', 'rate']);

test('there are rules, each with a name of its own', () => {
  expect(rules.length).toBeGreaterThanOrEqual(10);
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
});

test.each(rules.map((rule) => [rule.alert, rule] as const))('%s', (_name, rule) => {
  const asked = metricsOf(rule.expr);
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter((metric) => !names.has(metric))).toEqual([]);
  expect(rule.for).toMatch(/^\d+[mh]$/);
  expect(['warning', 'critical']).toContain(rule.labels.severity);
  const [page = '', anchor = ''] = rule.annotations.runbook.split('#');
  const headings = [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  expect(headings).toContain(anchor);
});

test('the check sees a metric that no program has', () => {
  expect(names.has('device_fuse_left_seconds')).toBe(true);
  expect(metricsOf('max by (device) (no_such_metric{state="x"}) > 8 * 3600')).toEqual(['no_such_metric']);
});
