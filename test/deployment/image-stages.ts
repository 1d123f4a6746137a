import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, linkSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export interface Stage {
  base: string;
  /** Null: the last one, which is the image. */
  name: string | null;
  /** Each as it stands, with its continued lines. */
  instructions: { word: string; rest: string }[];
}

/** The stages of a Dockerfile, and what it names before the first. */
export function readStages(text: string): { before: string[]; stages: Stage[] } {
  const lines = text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const before: string[] = [];
  const stages: Stage[] = [];
  for (const line of lines) {
    const [, base = '', name = null] = /^FROM (\S+)(?: AS (\S+))?$/.exec(line) ?? [];
    const [, word = '', rest = ''] = /^([A-Z]+) +(.*)$/.exec(line) ?? [];
    if (base !== '') stages.push({ base, name, instructions: [] });
    else if (stages.length === 0) before.push(line);
    else stages.at(-1)?.instructions.push({ word, rest });
  }
  return { before, stages };
}

/** Whether `.dockerignore` keeps a file out, in the forms that it is written in here: names, paths, `**` in front, `*` within a name. */
export function isIgnored(file: string, patterns: readonly string[]): boolean {
  const parts = file.split('/');
  return patterns.some((pattern) => {
    const isAnywhere = pattern.startsWith('**/');
    const words = pattern.replace(/^\*\*\//, '').split('/');
    // What is below a folder that matches is kept out with it.
    return parts.some(
      (_, at) => (isAnywhere || at === 0) && words.every((word, index) => matches(word, parts[at + index] ?? '')),
    );
  });
}

function matches(word: string, part: string): boolean {
  const [before = '', after] = word.split('*');
  return after === undefined ? word === part : part.startsWith(before) && part.endsWith(after);
}

/** What `COPY . .` takes: the files that git knows, without those that `.dockerignore` names. */
export function copyContext(from: string, to: string): void {
  const patterns = readFileSync(join(from, '.dockerignore'), 'utf8').trim().split('\n');
  const listed = spawnSync('git', ['ls-files', '-z'], { cwd: from, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (listed.status !== 0) throw new Error(`git ls-files: ${listed.stderr}`);
  for (const file of listed.stdout.split('\0').filter((name) => name !== '' && !isIgnored(name, patterns))) {
    // Deleted and not committed yet.
    if (lstatSync(join(from, file), { throwIfNoEntry: false }) === undefined) continue;
    mkdirSync(dirname(join(to, file)), { recursive: true });
    cpSync(join(from, file), join(to, file), { verbatimSymlinks: true });
  }
}

/** The same packages without their bytes: each file by one more name, where both folders are on one disk. */
export function linkPackages(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) {
      // What tools keep there is theirs.
      if (entry.name !== '.cache') linkPackages(source, target);
    } else if (entry.isSymbolicLink()) cpSync(source, target, { verbatimSymlinks: true });
    // npm writes over this one in place: under a second name it would be that of the checkout as well.
    else if (entry.name === '.package-lock.json') copyFileSync(source, target);
    else linkOrCopy(source, target);
  }
}

function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch {
    copyFileSync(source, target);
  }
}

/** `COPY --from=…`, as Docker does it: a folder becomes the target, a file goes into it. Moved, so that the stage lacks it afterwards. */
export function takeFromStage(stage: string, image: string, rest: string): void {
  const words = rest.split(/ +/).slice(1);
  const target = words.pop() ?? '';
  for (const source of words.map((word) => join(stage, word.replace(/^\/app\//, '')))) {
    const into = lstatSync(source).isDirectory() ? join(image, target) : join(image, target, basename(source));
    mkdirSync(dirname(into), { recursive: true });
    renameSync(source, into);
  }
}

/** Every package below a `node_modules`, as `npm` names it in a package URL. */
export function packagesIn(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => !name.startsWith('.'));
  const paths = names.flatMap((name) =>
    name.startsWith('@')
      ? readdirSync(join(folder, name)).map((inner) => join(folder, name, inner))
      : [join(folder, name)],
  );
  return paths.flatMap((path) => {
    const { name, version } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Record<string, string>;
    const inner = join(path, 'node_modules');
    const below = lstatSync(inner, { throwIfNoEntry: false })?.isDirectory() === true ? packagesIn(inner) : [];
    return [packageUrl(name ?? '', version ?? ''), ...below];
  });
}

export function packageUrl(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}
