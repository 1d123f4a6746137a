// Promise: the release before is built once from its own commit, a build that fails leaves nothing, and only a shallow clone may go without it.
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const TOOLS = ['release-before', 'files', 'paths', 'processes', 'run', 'user-error'].map(
  (name) => `scripts/lib/${name}.mjs`,
);
/** Notes in the folder above that it has run, and ends as the release says. */
const BUILD = `import fs from 'node:fs';
fs.appendFileSync('../../../builds', 'x');
fs.mkdirSync('dist');
process.exit(Number(fs.readFileSync('exit', 'utf8')));`;

let folder = '';
let repository = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fiscal-release-before-'));
  repository = join(folder, 'repository');
  mkdirSync(join(repository, 'node_modules'), { recursive: true });
  for (const file of TOOLS) cpSync(file, join(repository, file));
  write('package.json', '{}');
  write('package-lock.json', '{}');
  write('.gitignore', 'node_modules/\n.artifacts/\nbuilds\n');
  write('scripts/build.mjs', BUILD);
  git(repository, 'init', '--quiet');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(file: string, text: string): void {
  writeFileSync(join(repository, file), text);
}

function writeLock(versions: Record<string, string>): void {
  const entries = Object.entries(versions).map(([name, version]) => [`node_modules/${name}`, { version }]);
  write('package-lock.json', JSON.stringify({ packages: { '': {}, ...Object.fromEntries(entries) } }));
}

function git(cwd: string, ...args: string[]): string {
  const who = ['-c', 'user.name=test', '-c', 'user.email=test@localhost', '-c', 'commit.gpgsign=false'];
  return execFileSync('git', [...who, ...args], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

function release(exit: number): string {
  write('exit', String(exit));
  git(repository, 'add', '--all');
  git(repository, 'commit', '--quiet', '--allow-empty', '--message', 'release');
  return git(repository, 'rev-parse', 'HEAD');
}

/** In a process of its own, as a run of tests does it. */
async function prepare(root: string, commit: string): Promise<unknown> {
  const tool = pathToFileURL(join(root, 'scripts', 'lib', 'release-before.mjs')).href;
  const code = `const { prepareReleaseBefore } = await import('${tool}');
    console.log(JSON.stringify(await prepareReleaseBefore()));`;
  const env = { ...process.env, NODE_OPTIONS: '', RELEASE_BEFORE: commit };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], { env });
  return JSON.parse(stdout);
}

const built = (): string[] => readdirSync(join(repository, '.artifacts', 'releases'));
const builds = (): number => readFileSync(join(repository, 'builds'), 'utf8').length;

test('built from the commit, with the same packages, and kept', async () => {
  const before = release(0);
  write('scripts/build.mjs', 'process.exit(1)');
  release(1);
  const root = join(repository, '.artifacts', 'releases', before.slice(0, 8));
  await expect(prepare(repository, before)).resolves.toEqual({ root, commit: before.slice(0, 8) });
  expect(readdirSync(root).sort()).toEqual(expect.arrayContaining(['dist', 'node_modules', 'package.json']));
  await prepare(repository, before);
  expect([builds(), built()]).toEqual([1, [before.slice(0, 8)]]);
});

test('two at once get one and the same', async () => {
  const before = release(0);
  const [one, other] = await Promise.all([prepare(repository, before), prepare(repository, before)]);
  expect(one).toEqual(other);
  expect(built()).toEqual([before.slice(0, 8)]);
});

test('a build that fails leaves nothing, and one that was killed is removed', async () => {
  const before = release(3);
  mkdirSync(join(repository, '.artifacts', 'releases', 'building-999999999-abcdef'), { recursive: true });
  await expect(prepare(repository, before)).rejects.toThrow('cannot be built');
  expect(built()).toEqual([]);
});

test.each([
  ['the same packages where one has come since', '', { old: '1.0.0', later: '1.0.0' }],
  ['packages of its own where one has changed', '-own-packages', { old: '1.0.1' }],
  ['packages of its own where one has gone', '-own-packages', {}],
])('%s', async (_, ending, packages) => {
  writeLock({ old: '1.0.0' });
  const before = release(0);
  writeLock(packages);
  release(0);
  await expect(prepare(repository, before)).resolves.toMatchObject({
    root: join(repository, '.artifacts', 'releases', `${before.slice(0, 8)}${ending}`),
  });
});

test('missing in a shallow clone; an error in a whole one', async () => {
  const before = release(0);
  release(1);
  const shallow = join(folder, 'shallow');
  git(folder, 'clone', '--quiet', '--depth', '1', pathToFileURL(repository).href, shallow);
  await expect(prepare(shallow, before)).resolves.toEqual({ missing: expect.stringContaining('shallow') });
  await expect(prepare(repository, 'f'.repeat(40))).rejects.toThrow('is no commit of this repository');
});
