// Promise: every budget and boundary that we claim to lint really fails on code that breaks it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import tseslint from 'typescript-eslint';
import { LEDGER_READERS, readsOfOthers } from '../../scripts/lib/ledger-readers.mjs';

const ROOT = join(import.meta.dirname, '..', '..');
const NODE_MODULES = join(ROOT, 'node_modules');

/** A repository in small with one bad file per rule. */
const folder = mkdtempSync(join(tmpdir(), 'fiscal-rules-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

const repeat = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join('\n');
const parameters = (count: number): string =>
  Array.from({ length: count }, (_, index) => `_p${index}: number`).join(', ');

/** File, its content, and the rule that must object. */
const LINTED: [string, string, string][] = [
  ['long-file.ts', repeat(401, (index) => `export const v${index} = ${index};`), 'max-lines'],
  ['long-function.ts', `export function f(): void {\n${repeat(71, () => 'f();')}\n}`, 'max-lines-per-function'],
  ['parameters.ts', `export function f(${parameters(5)}): void {}`, 'no-restricted-syntax'],
  ['arrow-parameters.ts', `export const f = (${parameters(5)}): void => {};`, 'no-restricted-syntax'],
  ['method-parameters.ts', `export class A { m(${parameters(5)}): void {} }`, 'no-restricted-syntax'],
  ['constructor.ts', `export class A { constructor(${parameters(7)}) {} }`, 'no-restricted-syntax'],
  ['default-export.ts', 'export default class A {}', 'no-restricted-syntax'],
  ['barrel.ts', "export * from './ok.js';", 'no-restricted-syntax'],
  ['environment.ts', "export const a = process.env['A'];", 'no-restricted-properties'],
  ['environment-import.ts', "import { env } from 'node:process';\nexport const a = env['A'];", 'no-restricted-imports'],
  ['any.ts', 'export const a: any = 1;', '@typescript-eslint/no-explicit-any'],
  ['silent-catch.ts', 'export function f(): void {\n  try {\n    f();\n  } catch {}\n}', 'no-empty'],
  ['console.ts', "console.log('x');", 'no-console'],
  ['suppression.ts', '// eslint-disable-next-line no-console\nconsole.log(1);', 'local/suppression-needs-reason'],
  ['other-suppression.ts', '// oxlint-disable-next-line\nconsole.log(1);', 'local/suppression-needs-reason'],
  ['idle-suppression.ts', '// eslint-disable-next-line no-console -- why\nexport const a = 1;', 'null'],
  ['ts-ignore.ts', '// @ts-ignore\nexport const a: number = 1;', '@typescript-eslint/ban-ts-comment'],
  ['backtracking.ts', String.raw`export const r = /^(a+)+$/;`, 'regexp/no-super-linear-backtracking'],
  ['moving.ts', String.raw`export const r = /a+$/;`, 'regexp/no-super-linear-move'],
  ['normalising.ts', "export const n = (text: string): string => text.normalize('NFC');", 'no-restricted-syntax'],
  ['owned-update.ts', "export const s = `WITH a AS (\n UPDATE receipts r SET status = 'x')`;", 'local/owned-tables'],
  ['owned-insert.ts', "export const s = 'INSERT INTO events (id) VALUES (1)';", 'local/owned-tables'],
  ['owned-delete.ts', 'export const s = \'DELETE FROM "attempts"\';', 'local/owned-tables'],
  ['owned-payment.ts', 'export const s = `UPDATE payments SET news = 1`;', 'local/owned-tables'],
  ['reads-ledger.ts', 'export const s = `SELECT id\n FROM receipts r JOIN devices d ON true`;', 'local/ledger-readers'],
  [
    'reads-attempts.ts',
    "export const s = 'WITH a AS (SELECT 1) SELECT 1 FROM a JOIN attempts b ON true';",
    'local/ledger-readers',
  ],
  ['reads-payments.ts', 'export const s = `SELECT EXISTS (SELECT FROM payments)`;', 'local/ledger-readers'],
  ['payments/reads-ledger.ts', 'export const s = `SELECT FROM events`;', 'local/ledger-readers'],
  [
    'reads-model.ts',
    'export const s = (db: { receipt: { count(): number } }): number => db.receipt.count();',
    'local/ledger-readers',
  ],
  [
    'owned-model.ts',
    'export const f = (p: { lane: { create: () => void } }): void => p.lane.create();',
    'local/owned-tables',
  ],
  [
    'framework-problem.ts',
    "import { NotFoundException } from '@nestjs/common';\nexport const e = new NotFoundException();",
    'no-restricted-imports',
  ],
  [
    'status.ts',
    "import { PROBLEMS } from '#problems';\nexport const s = PROBLEMS.conflict.status;",
    'no-restricted-imports',
  ],
  ['non-null.ts', 'export const f = (a?: string): string => a!;', '@typescript-eslint/no-non-null-assertion'],
];

const ACCEPTED: [string, string][] = [
  ['ok.ts', `export class A {\n  constructor(${parameters(6)}) {}\n  m(${parameters(4)}): void {}\n}`],
  ['settings.ts', "export const a = process.env['A'];"],
  ['index.ts', "export { A } from './ok.js';"],
  ['reads.repository.ts', 'export const s = `SELECT id FROM receipts r JOIN payments p ON true FOR UPDATE OF r`;'],
  ['payments/reads.ts', 'export const s = `SELECT id FROM payments p`;'],
  ['payments/repository/writes.ts', 'export const s = `UPDATE payments SET news = 1`;'],
  ['reasoned.ts', '// eslint-disable-next-line no-console -- the only line a person reads\nconsole.log(1);'],
];

/** One line for each rule of .oxlintrc.json that it must object to. */
const LINTED_WITH_TYPES: Record<string, string> = {
  'await-thenable': 'export const f = async (): Promise<void> => await (undefined as void);',
  'no-array-delete': 'export const f = (list: number[]): boolean => delete list[0];',
  'no-base-to-string': 'export const f = (a: { b: number }): string => String(a);',
  'no-duplicate-type-constituents': "export type A = 'a' | 'a';",
  'no-floating-promises': 'export function f(): void {\n  Promise.resolve();\n}',
  'no-for-in-array': 'export function f(list: number[]): void {\n  for (const at in list) Number(at);\n}',
  'no-implied-eval': "export const f = (): unknown => new Function('return 1');",
  'no-misused-promises': 'export const f = (ask: () => Promise<boolean>): number => (ask() ? 1 : 0);',
  'no-redundant-type-constituents': 'export type A = unknown | string;',
  'no-unnecessary-type-assertion': 'export const f = (a: string): string => a as string;',
  'no-unsafe-argument': "export const a = Number.parseInt(JSON.parse('1'));",
  'no-unsafe-assignment': "export const a: number = JSON.parse('1');",
  'no-unsafe-call': "export const a: unknown = JSON.parse('1')();",
  'no-unsafe-enum-comparison': 'enum A {\n  b = 1,\n}\nexport const f = (a: A): boolean => a === 1;',
  'no-unsafe-member-access': "export const a: unknown = JSON.parse('1').b;",
  'no-unsafe-return': "export const f = (): number => JSON.parse('1');",
  'no-unsafe-unary-minus': 'export const f = (a: string): number => -a;',
  'only-throw-error': "export function f(): void {\n  throw 'a';\n}",
  'prefer-promise-reject-errors': "export const f = (): Promise<never> => Promise.reject('a');",
  'prefer-readonly': 'export class A {\n  private b = 1;\n  c(): number {\n    return this.b;\n  }\n}',
  'require-await': 'export async function f(): Promise<number> {\n  return 1;\n}',
  'restrict-plus-operands': "export const f = (a: { b: number }): string => a + 'c';",
  'restrict-template-expressions': 'export const f = (a: object): string => `${a}`;',
  'return-await':
    'export async function f(a: Promise<void>): Promise<void> {\n  try {\n    return a;\n  } catch {\n    return;\n  }\n}',
  'switch-exhaustiveness-check':
    "export function f(a: 'b' | 'c'): void {\n  switch (a) {\n    case 'b':\n      break;\n  }\n}",
  'unbound-method': 'export const f = (a: { b(): void }): unknown => [a.b];',
};

/** What typescript-eslint recommends and needs types for. */
const RECOMMENDED_WITH_TYPES = tseslint.configs.recommendedTypeCheckedOnly
  .flatMap(({ rules = {} }) => Object.entries(rules))
  .filter(([name, level]) => name.startsWith('@typescript-eslint/') && level !== 'off')
  .map(([name]) => name.replace('@typescript-eslint/', ''));

interface EslintResult {
  filePath: string;
  messages: { ruleId: string | null; message: string }[];
}

beforeAll(() => {
  const options = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: { rootDir: '.', allowJs: false, types: ['node'] },
  };
  write('tsconfig.json', JSON.stringify({ ...options, include: ['apps', 'libs', 'typed'] }));
  symlinkSync(NODE_MODULES, join(folder, 'node_modules'));
});

describe('eslint', () => {
  let complaints = new Map<string, string[]>();

  beforeAll(() => {
    for (const [file, text] of [...LINTED, ...ACCEPTED]) write(`apps/gateway/src/${file}`, `${text}\n`);
    const args = [
      join(NODE_MODULES, 'eslint/bin/eslint.js'),
      '--config',
      join(ROOT, 'eslint.config.js'),
      '--format',
      'json',
    ];
    const { stdout, stderr } = spawnSync(process.execPath, [...args, 'apps'], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] },
    });
    if (stdout === '') throw new Error(stderr);
    const results = JSON.parse(stdout) as EslintResult[];
    complaints = new Map(
      results.map(({ filePath, messages }) => [
        filePath.slice(filePath.indexOf('/src/') + 5),
        messages.map(({ ruleId, message }) => (message.startsWith('Parsing') ? message : String(ruleId))),
      ]),
    );
  });

  test.each(LINTED)('%s is refused', (file, _text, rule) => {
    expect(complaints.get(file)).toContain(rule);
  });

  test.each(ACCEPTED)('%s is fine', (file) => {
    expect(complaints.get(file)).toEqual([]);
  });
});

describe('oxlint, for the rules that need types', () => {
  let complaints: string[] = [];
  let output = '';
  const { rules } = JSON.parse(readFileSync(join(ROOT, '.oxlintrc.json'), 'utf8')) as {
    rules: Record<string, unknown>;
  };

  beforeAll(() => {
    for (const [rule, text] of Object.entries(LINTED_WITH_TYPES)) write(`typed/${rule}.ts`, `${text}\n`);
    for (const file of ['a.tsx', 'a.mjs', 'a.spec.ts', 'testing/a.ts']) write(`typed/${file}`, 'Promise.resolve();\n');
    write('typed/idle.ts', '// oxlint-disable-next-line typescript/require-await -- why\nexport const a = 1;\n');
    const oxlint = join(NODE_MODULES, 'oxlint/bin/oxlint');
    const args = [oxlint, '--config', join(ROOT, '.oxlintrc.json'), '--format', 'json', 'typed'];
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
    if (!stdout.startsWith('{')) throw new Error(stdout + stderr);
    output = stdout;
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { filename: string; code: string }[] };
    complaints = diagnostics.map(({ filename, code }) => `${filename}: ${code}`);
  });

  test('each rule has its line here, and none of those that are recommended is left out', () => {
    const names = Object.keys(rules).map((name) => name.replace('typescript/', ''));
    expect(names.sort()).toEqual(Object.keys(LINTED_WITH_TYPES).sort());
    expect(RECOMMENDED_WITH_TYPES.length).toBeGreaterThan(20);
    expect(RECOMMENDED_WITH_TYPES.filter((rule) => !names.includes(rule))).toEqual([]);
  });

  test.each(['a.tsx', 'a.mjs', 'a.spec.ts', 'testing/a.ts'])('%s is linted with types too', (file) => {
    expect(complaints).toContain(`typed/${file}: typescript(no-floating-promises)`);
  });

  test('a suppression that is not needed is refused', () => {
    expect(output).toMatch(/idle\.ts/);
  });

  test.each(Object.keys(LINTED_WITH_TYPES))('%s objects', (rule) => {
    expect(complaints).toContain(`typed/${rule}.ts: typescript(${rule})`);
  });
});

test.each(Object.entries(LEDGER_READERS))('the listed reader %s still reads, for a reason', (file, reason) => {
  const text = readFileSync(join(ROOT, file), 'utf8');
  expect(readsOfOthers(join('/', file), text)).toBe(true);
  expect(reason.length).toBeGreaterThan(10);
});

/** Importing file, imported file, and the boundary that must object. */
const CROSSED: [string, string, string][] = [
  ['apps/gateway/src/a.ts', 'apps/device-relay/src/b.ts', 'apps-do-not-know-each-other'],
  ['libs/runtime/src/c.ts', 'apps/gateway/src/d.ts', 'libs-do-not-know-apps'],
  ['apps/gateway/src/e.ts', 'libs/queue/src/inner.ts', 'libs-only-through-their-index'],
  ['apps/cash-register/src/f.ts', 'libs/database/src/index.ts', 'cash-register-stands-alone'],
  ['apps/cash-register/src/g.ts', 'libs/payments/src/index.ts', 'cash-register-stands-alone'],
  ['apps/cash-register/src/h.ts', 'pg', 'cash-register-stands-alone'],
  ['libs/fiscal-domain/src/i.ts', 'node:fs', 'fiscal-domain-is-pure'],
  ['libs/fiscal-domain/src/j.ts', 'libs/runtime/src/index.ts', 'fiscal-domain-is-pure'],
  ['libs/sdk/src/t.ts', 'node:crypto', 'sdk-stands-alone'],
  ['libs/sdk/src/u.ts', 'libs/runtime/src/index.ts', 'sdk-stands-alone'],
  ['libs/sdk/src/v.ts', 'ulid', 'sdk-stands-alone'],
  ['libs/payments/src/k.ts', '@nestjs/common', 'payments-is-framework-free'],
  ['apps/device-relay/src/lanes/l.ts', 'ioredis', 'implementations-are-chosen-in-modules'],
  ['apps/gateway/src/m.ts', 'apps/gateway/src/testing/n.ts', 'no-test-code-in-programs'],
  ['apps/gateway/src/o.ts', 'fast-check', 'programs-use-no-dev-dependencies'],
  ['apps/gateway/src/p.ts', './missing.js', 'no-unresolvable'],
  ...upward('gateway', 'gateway-context', [
    ['http', 'audit'],
    ['audit', 'access'],
    ['access', 'fleet'],
    ['fleet', 'goods'],
    ['goods', 'receipts'],
    ['receipts', 'payments'],
    ['payments', 'operator'],
    ['notify', 'operator'],
    ['operator', 'notify'],
    ['docs', 'programs'],
    ['programs', 'docs'],
    ['console', 'docs'],
  ]),
  ['apps/gateway/src/http/x.ts', 'apps/gateway/src/gateway.module.ts', 'gateway-context-http'],
  ['apps/gateway/src/goods/y.ts', 'apps/gateway/src/warehouse/y.ts', 'gateway-has-these-folders'],
  ...upward('device-relay', 'relay-folder', [
    ['emulated', 'devices'],
    ['events', 'devices'],
    ['links', 'devices'],
    ['shares', 'devices'],
    ['devices', 'copies'],
    ['copies', 'lanes'],
    ['lanes', 'tasks'],
    ['shifts', 'ofd-watch'],
    ['ofd-watch', 'health'],
    ['health', 'failover'],
    ['failover', 'restore'],
    ['inspection', 'restore'],
    ['restore', 'failover'],
    ['archive', 'failover'],
  ]),
  ...upward('cash-register', 'register-folder', [
    ['classifier', 'journal'],
    ['emulator', 'fiscal-module'],
    ['journal', 'fiscal-module'],
    ['fiscal-module', 'receipts'],
    ['ofd', 'fiscal-module'],
    ['receipts', 'shifts'],
    ['shifts', 'local-api'],
    ['local-api', 'screen'],
  ]),
  ['apps/cash-register/src/screen/d.ts', 'apps/cash-register/src/server.ts', 'register-folder-screen'],
  ['apps/cash-register/src/e.ts', 'apps/cash-register/src/cellar/e.ts', 'cash-register-has-these-folders'],
  ['apps/device-relay/src/tasks/d.ts', 'apps/device-relay/src/relay.module.ts', 'relay-folder-tasks'],
  ['apps/device-relay/src/e.ts', 'apps/device-relay/src/cellar/e.ts', 'device-relay-has-these-folders'],
  ['apps/gateway/src/payments/http.ts', 'libs/http/src/index.ts', 'only-edges-know-http'],
  ['apps/device-relay/src/lanes/http.ts', 'libs/http/src/index.ts', 'only-edges-know-http'],
  ['libs/payments/src/http.ts', 'libs/http/src/index.ts', 'libs-know-no-http'],
  ['apps/console/src/runs.ts', 'libs/runtime/src/index.ts', 'console-stands-alone'],
  ['apps/gateway/src/tokens.ts', 'apps/gateway/src/access/z.ts', 'settings-know-no-context'],
];

/** For each arrow a file in the one folder that imports a file in the other. */
function upward(app: string, rule: string, arrows: readonly [string, string][]): [string, string, string][] {
  const file = (folder: string, name: string): string => `apps/${app}/src/${folder}/${name}.ts`;
  return arrows.map(([from, to]) => [file(from, `to-${to}`), file(to, 'used'), `${rule}-${from}`]);
}

const KEPT: [string, string][] = [
  ['apps/gateway/src/lanes.module.ts', 'ioredis'],
  ['apps/gateway/src/main.ts', 'libs/queue/src/index.ts'],
  ['libs/payments/src/q.ts', 'libs/fiscal-domain/src/index.ts'],
  ['apps/gateway/src/r.spec.ts', 'apps/gateway/src/testing/n.ts'],
  ['libs/fiscal-domain/src/s.spec.ts', 'node:fs'],
  ['libs/sdk/src/w.spec.ts', 'node:fs'],
  ['apps/gateway/src/payments/down.ts', 'apps/gateway/src/receipts/below.ts'],
  ['apps/gateway/src/http/up.spec.ts', 'apps/gateway/src/payments/used.ts'],
];

interface Configuration {
  forbidden: { name: string }[];
}

interface Violation {
  from: string;
  to: string;
  rule: { name: string };
}

describe('dependency-cruiser', () => {
  let violations: Violation[] = [];
  const foundFor = (from: string): string[] =>
    violations.filter((violation) => violation.from === from).map(({ rule }) => rule.name);

  beforeAll(() => {
    const boundary = join(folder, 'boundaries');
    const put = (file: string, text: string): void => write(join('boundaries', file), text);
    const { name, type, dependencies, devDependencies } = JSON.parse(
      readFileSync(join(ROOT, 'package.json'), 'utf8'),
    ) as Record<string, unknown>;
    put('package.json', JSON.stringify({ name, type, dependencies, devDependencies }));
    put('tsconfig.json', JSON.stringify({ compilerOptions: { module: 'nodenext', target: 'es2023' } }));
    for (const [from, to] of [...CROSSED, ...KEPT]) {
      const isFile = /^(apps|libs)\//.test(to);
      const target = isFile ? `${'../'.repeat(from.split('/').length - 1)}${to.replace(/\.ts$/, '.js')}` : to;
      if (isFile) put(to, 'export const value = 1;\n');
      put(from, `import * as found from '${target}';\nexport const value = found;\n`);
    }
    put('apps/gateway/src/round-1.ts', "import { b } from './round-2.js';\nexport const a = () => b;\n");
    put('apps/gateway/src/round-2.ts', "import { a } from './round-1.js';\nexport const b = () => a;\n");
    put('libs/one/src/index.ts', "import type { B } from '../../two/src/index.js';\nexport type A = B | 1;\n");
    put('libs/two/src/index.ts', "import type { A } from '../../one/src/index.js';\nexport type B = A | 2;\n");
    symlinkSync(NODE_MODULES, join(boundary, 'node_modules'));
    const args = ['--config', join(ROOT, '.dependency-cruiser.cjs'), '--output-type', 'json', 'apps', 'libs'];
    const cruiser = join(NODE_MODULES, 'dependency-cruiser/bin/dependency-cruise.mjs');
    const { stdout, stderr } = spawnSync(process.execPath, [cruiser, ...args], { cwd: boundary, encoding: 'utf8' });
    if (stdout === '') throw new Error(stderr);
    violations = (JSON.parse(stdout) as { summary: { violations: Violation[] } }).summary.violations;
  });

  test.each(CROSSED)('%s must not import %s', (from, _to, rule) => {
    expect(foundFor(from)).toContain(rule);
  });

  test.each(KEPT)('%s may import %s', (from) => {
    expect(foundFor(from)).toEqual([]);
  });

  test('two modules must not import each other', () => {
    expect(foundFor('apps/gateway/src/round-1.ts')).toContain('no-cycles');
  });

  test('every rule of the configuration is seen to fail here', () => {
    const { forbidden } = createRequire(import.meta.url)(join(ROOT, '.dependency-cruiser.cjs')) as Configuration;
    const seen = new Set(violations.map(({ rule }) => rule.name));
    expect(forbidden.map(({ name }) => name).filter((name) => !seen.has(name))).toEqual([]);
  });
});
