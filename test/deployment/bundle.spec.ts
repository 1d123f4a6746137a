// Promise: in the bundles that production runs classes keep the names of their sources, and no closure pays for a name each time that it is made.
import { runInThisContext } from 'node:vm';
import { build } from 'esbuild';
import { SAME_HELPER, withNamesOfClassesOnly } from '../../scripts/lib/bundle-programs.mjs';

const MODULES: Readonly<Record<string, string>> = {
  main: `export { Answer as First, counter } from './one.js'; export { Answer as Second } from './two.js';`,
  one: `export class Answer {} export const counter = (start) => { const next = () => (start += 1); return next; };`,
  two: `export const Answer = class {}; function counter() {} export { counter as unused };`,
};

async function bundled(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: MODULES['main'] ?? '', resolveDir: '/' },
    ...{ bundle: true, format: 'cjs', platform: 'node', target: 'node20.19', keepNames: true, write: false },
    plugins: [
      {
        name: 'modules',
        setup(builder) {
          builder.onResolve({ filter: /^\.\// }, ({ path }) => ({ path: path.slice(2, -3), namespace: 'modules' }));
          builder.onLoad({ filter: /.*/, namespace: 'modules' }, ({ path }) => ({ contents: MODULES[path] ?? '' }));
        },
      },
    ],
  });
  return outputFiles[0]?.text ?? '';
}

test('classes keep their names where two modules have the same one; closures are what they were', async () => {
  const text = `${SAME_HELPER} ${withNamesOfClassesOnly(await bundled())}`;
  const module = { exports: {} };
  (runInThisContext(`(module) => { ${text} }`) as (of: typeof module) => void)(module);
  const { First, Second, counter } = module.exports as {
    First: { name: string };
    Second: { name: string };
    counter: (start: number) => () => number;
  };
  expect([First.name, Second.name, counter(41)()]).toEqual(['Answer', 'Answer', 42]);
  expect(text).toContain('__name(this, "Answer")');
});

test('what esbuild writes for the name of a function is taken out, and no column moves', async () => {
  const before = await bundled();
  const after = withNamesOfClassesOnly(before);
  const named = (text: string): string[] => [...text.matchAll(/__name\(\w*/g)].map(([call]) => call);
  expect(named(before)).toContain('__name(');
  expect(named(after)).toEqual(['__name(this', '__name(this']);
  expect(after.length).toBe(before.length);
});
