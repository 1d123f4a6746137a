import { cpus, totalmem } from 'node:os';

export interface Figure {
  name: string;
  value: number;
  unit: string;
  target?: string;
}

/** A Markdown table for docs/performance.md, with what it was measured on. */
export function report(title: string, figures: readonly Figure[], commit: string): string {
  const rows = figures.map(
    ({ name, value, unit, target }) => `| ${name} | ${rounded(value)} ${unit} | ${target ?? ''} |`,
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

function rounded(value: number): string {
  if (!Number.isFinite(value)) return 'n/a';
  return Math.abs(value) >= 100 ? String(Math.round(value)) : value.toFixed(2);
}
