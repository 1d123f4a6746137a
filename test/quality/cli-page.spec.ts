// Promise: every command of fgw and of the operator that a page shows is one that the program has, with its options; the exit codes are those of the code.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { EXIT } from '../../apps/cli/src/exit-codes.js';
import { createProgram } from '../../apps/cli/src/program.js';
import { thisProcess } from '../../apps/cli/src/session.js';

const ROOT = process.cwd();
const program = createProgram(thisProcess(new AbortController().signal));

function pagesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return pagesBelow(path);
    return path.endsWith('.md') ? [path] : [];
  });
}

/** Lines of shell blocks that begin with fgw, also by way of `npm run fgw --`, without comments. */
function commandsOf(page: string): string[] {
  const blocks = [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(
    ([, code]) => code ?? '',
  );
  const lines = blocks
    .join('\n')
    .replace(/\\\n\s*/g, ' ')
    .split('\n');
  return lines
    .map((line) => line.replace(/\s#.*$/, '').trim())
    .map((line) => line.replace(/npm run (?:--silent )?cli --(?= )/, 'fgw operator'))
    .map((line) => /(?:^|[\s(|])(?:npm run (?:--silent )?fgw --|fgw) ([^|)>]*)/.exec(line)?.[1]?.trim() ?? '')
    .filter((line) => line !== '' && !line.startsWith('"$@"'));
}

const shown = ['README.md', ...pagesBelow('docs'), ...pagesBelow('examples')].flatMap((page) =>
  commandsOf(page).map((line) => ({ page, line })),
);

/** What is wrong with it; null when nothing is. */
function faultOf(line: string): string | null {
  const words: string[] = line.match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
  let command: Command = program;
  let rest = words;
  for (;;) {
    const [next = ''] = rest;
    const inner = command.commands.find((one) => one.name() === next);
    if (inner === undefined) break;
    [command, rest] = [inner, rest.slice(1)];
  }
  if (command === program && !line.startsWith('--')) return `no such command: ${line}`;
  if (command.commands.length > 0 && command !== program)
    return `${command.name()} needs a command of its own: ${line}`;
  const known = [command, command.parent, command.parent?.parent, program]
    .flatMap((one) => one?.options ?? [])
    .map(({ long }) => long);
  const foreign = rest.filter(
    (word) => word.startsWith('--') && word !== '--help' && !known.includes(word.split('=')[0]),
  );
  return foreign.length === 0 ? null : `${foreign.join(', ')} of: ${line}`;
}

test('there are commands to check, and the check sees what is wrong', () => {
  expect(shown.length).toBeGreaterThan(20);
  expect(faultOf('receipts creat')).not.toBeNull();
  expect(faultOf('receipts create --kee k')).not.toBeNull();
  expect(faultOf('receipts')).not.toBeNull();
  expect(faultOf("receipts create --key 'k' --json")).toBeNull();
});

test('every command that is shown is there, with its options', () => {
  expect(shown.map(({ page, line }) => ({ page, fault: faultOf(line) })).filter(({ fault }) => fault !== null)).toEqual(
    [],
  );
});

test('docs/cli.md shows every command', () => {
  const lines = commandsOf('docs/cli.md');
  const leaves = (command: Command, path: string[]): string[] =>
    command.commands.length === 0
      ? [path.join(' ')]
      : command.commands.flatMap((inner) => leaves(inner, [...path, inner.name()]));
  const alike = ['devices resume', 'devices disable', 'devices enable'];
  const missing = leaves(program, []).filter(
    (path) => !alike.includes(path) && !lines.some((line) => line.startsWith(path)),
  );
  expect(missing).toEqual([]);
});

test('the exit codes of docs/cli.md are those of the code', () => {
  const page = readFileSync(join(ROOT, 'docs', 'cli.md'), 'utf8');
  const codes = [...page.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  expect(codes).toEqual(Object.values(EXIT));
});
