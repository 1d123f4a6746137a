// Promise: a word that is not written here fails the lint group where it is new, and is counted down where it is old.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const LIST = 'scripts/lib/language-remaining.json';
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fiscal-language-'));
  write(LIST, '{}\n');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

function language(...args: string[]): { passed: boolean; output: string } {
  const script = join(ROOT, 'scripts', 'language.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, folder, ...args], { encoding: 'utf8' });
  return { passed: status === 0, output: stdout + stderr };
}

/** File, its content, and the word that must be named. */
const REFUSED: [string, string, string][] = [
  ['libs/a.ts', '// The relay is told.', 'told'],
  ['libs/b.ts', 'export const tellWaiting = 1;', 'told'],
  ['libs/c.ts', "log.info('nobody answers');", 'nobody'],
  ['libs/d.ts', '/** Whoever holds the lane. */', 'whoever'],
  ['libs/e.ts', '// The caller repeats when he wants.', 'he'],
  ['libs/f.ts', 'export function untilLetGo(): void {}', 'let go'],
  ['libs/g.ts', '// The lane lets go of it.', 'let go'],
  ['libs/h.ts', 'export interface LaneGrip {}', 'grip'],
  ['libs/i.ts', 'const believedState = 1;', 'believed'],
  ['libs/j.ts', '// The remembered reading.', 'remembered'],
  ['libs/k.ts', 'export const LOOK_EVERY_MS = 25;', 'look'],
  ['libs/look-at-register.ts', 'export const a = 1;', 'look'],
  ['docs/index.md', 'At a glance.', 'glance'],
  ['docs/access.md', 'The gateway hears of it.', 'hears of'],
  ['README.md', 'Refused at the door.', 'door'],
  ['eslint.config.js', '// The rules of the house.', 'house'],
  ['libs/o.ts', 'export interface SaidFields {}', 'Said'],
  ['libs/p.ts', 'this.pump.soon();', 'soon()'],
  ['libs/q.ts', 'await this.worker.now(id);', 'now() as a command'],
];

test.each(REFUSED)('a new word in %s is refused: %s', (file, text, word) => {
  write(file, `${text}\n`);
  const { passed, output } = language();
  expect(passed).toBe(false);
  expect(output).toContain(`${file}:`);
  expect(output).toContain(`"${word}"`);
});

test.each([
  [
    'ordinary words',
    'libs/a.ts',
    'const lookup = (): number => clock.now(); // the register said no; looks up the host',
  ],
  ['names of database objects', 'libs/a.ts', "const t = 'devices_tell_link_changed';"],
  ['a setting', '.env.example', '# PAYMENT_LOOK_MS=1000'],
  ['migrations', 'prisma/migrations/1_core/migration.sql', '-- nobody'],
  ['decisions', 'docs/adr/0001-ledger-and-bell.md', 'Nobody.'],
])('accepted: %s', (_what, file, text) => {
  write(file, `${text}\n`);
  expect(language()).toEqual({ passed: true, output: '' });
});

describe('the list of what remains', () => {
  test('accepts what it counts, and refuses one more', () => {
    write(LIST, JSON.stringify({ nobody: { 'libs/a.ts': 1 } }));
    write('libs/a.ts', '// nobody\n');
    expect(language().passed).toBe(true);
    write('libs/a.ts', '// nobody, nobody\n');
    expect(language().passed).toBe(false);
  });

  test('--write lowers its counts and takes them along when a file is moved', () => {
    write(LIST, JSON.stringify({ nobody: { 'libs/a.ts': 2 } }));
    write('libs/b.ts', '// nobody\n');
    expect(language().passed).toBe(false);
    expect(language('--write').passed).toBe(true);
    expect(JSON.parse(readFileSync(join(folder, LIST), 'utf8'))).toEqual({ nobody: { 'libs/b.ts': 1 } });
    expect(language().passed).toBe(true);
  });

  test('--write refuses to raise a count', () => {
    write('libs/a.ts', '// nobody\n');
    expect(language('--write')).toMatchObject({
      passed: false,
      output: expect.stringContaining('only fall') as string,
    });
    expect(readFileSync(join(folder, LIST), 'utf8')).toBe('{}\n');
  });
});
