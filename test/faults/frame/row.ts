import type { Outcome } from './case.js';

/** One line of the table. Red when `failures` is not empty. */
export interface Row extends Outcome {
  number: string;
  name: string;
  seconds: number;
  seed: number;
}

export const HEADER = [
  '| | case | receipts | kills | lost | doubled | wrong order | parked | seconds | seed | |',
  '|---|---|---|---|---|---|---|---|---|---|---|',
];

/** The cells between the number and what is said of the row. */
export function cellsOf(row: Row): string[] {
  const { name, receipts, kills, lost, doubled, wrongOrder, parked, seconds, seed } = row;
  const counts = row.skipped
    ? Array<string>(6).fill('–')
    : [receipts, kills, lost, doubled, wrongOrder, parked].map(String);
  return [name, ...counts, row.skipped ? '–' : seconds.toFixed(0), String(seed)];
}

export function rowAsMarkdown(row: Row): string {
  return `| ${[row.number, ...cellsOf(row), remarksOf(row)].join(' | ')} |`;
}

/** Whether the promises held, and what was measured besides. */
export function remarksOf({ skipped, failures, figures = [] }: Row): string {
  if (skipped) return `not run: ${skipped}`;
  const why = failures.join('; ').replaceAll(/[\n|]/g, ' ').slice(0, 600);
  return [failures.length === 0 ? 'held' : `**broken**: ${why}`, ...figures].join('; ');
}
