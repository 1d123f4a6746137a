import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './paths.mjs';
import { UserError } from './user-error.mjs';

const PAGE = path.join(ROOT, 'docs', 'reliability.md');
const BEGIN = '<!-- fault table: begin -->';
const END = '<!-- fault table: end -->';
const HEADER = [
  '| | case | receipts | kills | lost | doubled | wrong order | parked | seconds | seed | commit | |',
  '|---|---|---|---|---|---|---|---|---|---|---|---|',
];

/**
 * Puts rows into the table of docs/reliability.md, each in the place of the same case's older row: a case that was run
 * alone leaves the others as they were.
 * @param {{ number: string, cells: string[], remarks: string }[]} rows
 * @param {string} commit that was run, and at which size if not in full
 * @param {string} [page]
 */
export function writeTable(rows, commit, page = PAGE) {
  const text = fs.readFileSync(page, 'utf8');
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new UserError(`${page} has lost the marks of its table.`);
  /** @type {Map<string, string>} */
  const lines = new Map();
  for (const line of text.slice(begin, end).split('\n')) {
    const number = /^\| (\d+[a-z]?) \|/.exec(line)?.[1];
    if (number !== undefined) lines.set(number, line);
  }
  for (const { number, cells, remarks } of rows) {
    lines.set(number, `| ${[number, ...cells, commit, remarks].join(' | ')} |`);
  }
  const inOrder = [...lines].sort(([left], [right]) => left.localeCompare(right, 'en', { numeric: true }));
  const table = [...HEADER, ...inOrder.map(([, line]) => line)].join('\n');
  fs.writeFileSync(page, `${text.slice(0, begin)}${BEGIN}\n\n${table}\n\n${text.slice(end)}`);
}
