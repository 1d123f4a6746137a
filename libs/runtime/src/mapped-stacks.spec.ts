// Promise: stacks of a program that is one file name the lines of its sources; without its map they name those of the file, and the error stays itself.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transformSync } from 'esbuild';
import { mapStacks } from './mapped-stacks.js';

const SOURCE = `interface Sale {
  readonly total: bigint;
}

class Till {
  refuse(sale: Sale): never {
    throw new TypeError(\`no \${sale.total}\`);
  }
}
export const sell = (): never => new Till().refuse({ total: 5n });
`;
const require = createRequire(import.meta.url);
let folder: string;
let program: string;
const usual: unknown = Reflect.get(Error, 'prepareStackTrace');

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fiscal-stacks-'));
  program = join(folder, 'program.cjs');
  const { code, map } = transformSync(SOURCE, {
    ...{ loader: 'ts', format: 'cjs', sourcefile: '../sources/till.ts', sourcemap: 'external', minifyWhitespace: true },
  });
  writeFileSync(program, code);
  writeFileSync(`${program}.map`, map);
});
afterEach(() => {
  Object.assign(Error, { prepareStackTrace: usual });
  rmSync(folder, { recursive: true });
});

function stackOf(failing: () => unknown): string {
  try {
    return String(failing());
  } catch (error) {
    return (error as Error).stack ?? '';
  }
}

function stackOfSale(): string {
  const { sell } = require(program) as { sell: () => never };
  return stackOf(sell);
}

test('lines of the sources', () => {
  mapStacks(program);
  const source = join(folder, '../sources/till.ts');
  expect(stackOfSale().split('\n').slice(0, 3)).toEqual([
    'TypeError: no 5',
    `    at Till.refuse (${source}:7:11)`,
    `    at sell (${source}:10:45)`,
  ]);
});

test('lines of the file where there is no map', () => {
  rmSync(`${program}.map`);
  mapStacks(program);
  const [head, thrown] = stackOfSale().split('\n');
  expect(head).toBe('TypeError: no 5');
  expect(thrown).toContain(`${program}:1:`);
});

test('an error of Node.js says its code, and one whose code is a number is what it was', () => {
  mapStacks(program);
  expect(stackOf(() => new URL('no address'))).toMatch(/^TypeError \[ERR_INVALID_URL\]: Invalid URL\n/);
  expect(Object.assign(new Error('refused'), { code: 22 }).stack).toMatch(/^Error: refused\n/);
});

test('files that are none of the program’s stay as they are', () => {
  mapStacks(program);
  expect(new RangeError('here').stack).toMatch(/^RangeError: here\n {4}at .*mapped-stacks\.spec\.ts:\d+:\d+/);
});
