// Promise: a process that ran a test file runs another one only if the first has left nothing in it.
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { leftovers, shared, surroundings } from '../../scripts/lib/native-jest/leftovers.mjs';
import NativeRunner from '../../scripts/lib/native-jest/runner.mjs';

/** @returns what a file that did this would leave, but for the clock of the test that runs, and for memory */
async function leftBy(work: () => unknown): Promise<string[]> {
  const [before, read] = [surroundings(), shared()];
  await work();
  const left = await leftovers(before, read);
  expect(left).toContain('Timeout');
  left.splice(left.indexOf('Timeout'), 1);
  return left.filter((what) => what !== 'much memory');
}

test('what was closed, and what Node.js makes when it is first used, is nothing', async () => {
  const closed = async (): Promise<void> => {
    const server = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    await new Promise((resolve) => server.close(resolve));
    clearInterval(setInterval(() => undefined, 5));
    expect(typeof CompressionStream).toBe('function');
  };
  expect(await leftBy(closed)).toEqual([]);
});

const marker = Symbol('left by a test');
const onWarning = (): void => undefined;
let timer: NodeJS.Timeout | undefined;
let server: net.Server | undefined;
const home = process.cwd();

afterEach(() => {
  clearInterval(timer);
  server?.close();
  delete process.env['LEFT_BY_A_TEST'];
  process.chdir(home);
  process.off('warning', onWarning);
  Reflect.deleteProperty(globalThis, marker);
});

test.each<[string, () => unknown]>([
  ['Timeout', () => (timer = setInterval(() => undefined, 1_000))],
  ['TCPServerWrap', () => (server = net.createServer().listen(0, '127.0.0.1'))],
  ['the environment', () => (process.env['LEFT_BY_A_TEST'] = 'yes')],
  ['the working folder', () => process.chdir(os.tmpdir())],
  ['listeners of the process', () => process.on('warning', onWarning)],
  [`the global ${String(marker)}`, () => Object.assign(globalThis, { [marker]: 1 })],
])('left behind: %s', async (what, work) => {
  expect(await leftBy(work)).toEqual([what]);
});

test('files share a process up to the first that leaves something or fails', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fiscal-test-files-'));
  const file = (name: string, body: string): string => {
    const text = `import fs from 'node:fs';
      test('${name}', () => {
        fs.appendFileSync(${JSON.stringify(path.join(folder, 'pids'))}, process.pid + '\\n');
        ${body}
      });`;
    fs.writeFileSync(path.join(folder, `${name}.ts`), text);
    return path.join(folder, `${name}.ts`);
  };
  const files = [
    file('clean', ''),
    file('leaves', 'globalThis.left = 1;'),
    file('after', "expect('left' in globalThis).toBe(false); expect.hasAssertions();"),
    file('fails', 'expect(1).toBe(2);'),
    file('last', ''),
  ];
  const failed: number[] = [];
  const context = { config: { displayName: { name: 'unit', color: 'white' } } };
  const tests = files.map((of) => ({ path: of, context })) as unknown as Parameters<NativeRunner['runTests']>[0];
  await new NativeRunner({ maxWorkers: 1 }).runTests(
    tests,
    { isInterrupted: () => false },
    () => Promise.resolve(),
    (_test, { numFailingTests }) => Promise.resolve(void failed.push(numFailingTests)),
    (_test, error) => Promise.reject(new Error(error.message)),
  );
  const [clean, leaves, after, fails, last] = fs.readFileSync(path.join(folder, 'pids'), 'utf8').split('\n');
  fs.rmSync(folder, { recursive: true });
  expect(failed).toEqual([0, 0, 0, 1, 0]);
  expect(leaves).toBe(clean);
  expect(after).not.toBe(leaves);
  expect(fails).toBe(after);
  expect(last).not.toBe(fails);
});
