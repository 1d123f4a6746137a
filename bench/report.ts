import { cpus, totalmem } from 'node:os';

export interface Figure {
  name: string;
  value: number;
  /** Where the middle half of what was measured lies. */
  spread?: readonly [number, number];
  unit: string;
  target?: string;
}

/** A Markdown table for docs/performance.md, with what it was measured on. */
export function report(title: string, figures: readonly Figure[], commit: string): string {
  const rows = figures.map(
    ({ name, value, spread, unit, target }) =>
      `| ${name} | ${rounded(value)}${within(spread)} ${unit} | ${target ?? ''} |`,
  );
  const machine = `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
  return [
    `### ${title}`,
    '',
    `Commit ${commit}; ${machine}.`,
    '',
    '| figure | measured | target |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function within(spread: Figure['spread']): string {
  return spread === undefined ? '' : ` (${rounded(spread[0])}–${rounded(spread[1])})`;
}

function rounded(value: number): string {
  if (!Number.isFinite(value)) return 'n/a';
  return Math.abs(value) >= 100 ? String(Math.round(value)) : value.toFixed(2);
}
