// Promise: the Dockerfile builds, what it copies into the image starts there, and the image lists every package with its licence. Tried
// without a container engine: the lines of its build stage are run one by one in a folder of their own. Two find their work done: for
// `npm ci` the packages of the checkout are linked, which are the same by package-lock.json and are not fetched once more; and what the
// same `npm run build` has compiled in the checkout is there, by the same sources.
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../libs/database/src/testing/index.js';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { readComposeFile } from './compose-file.js';
import {
  copyContext,
  isIgnored,
  linkPackages,
  packagesIn,
  packageUrl,
  readStages,
  takeFromStage,
} from './image-stages.js';

const ROOT = join(import.meta.dirname, '..', '..');
const BUILD_TIMEOUT_MS = 900_000;
const { before, stages } = readStages(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'));
const [build, image] = stages;
const folder = mkdtempSync(join(tmpdir(), 'fiscal-image-'));
const stageFolder = join(folder, 'stage');
const imageFolder = join(folder, 'image');
const running: ChildProcess[] = [];
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(async () => {
  await Promise.all(running.map(end));
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}

/** As in a container: nothing of this shell's environment but what is given. */
function start(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv) {
  const child = spawn(command, args, { cwd, env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...env } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { child, output: () => output };
}

/** Where npm finds its registry and its cache on this machine: `npm run docs` installs the packages of the site. */
function npmSettings(): NodeJS.ProcessEnv {
  const isKept = (name: string): boolean =>
    /^(home|npm_config_.*|https?_proxy|no_proxy|node_extra_ca_certs)$/i.test(name);
  const kept = Object.entries(process.env).filter(([name]) => isKept(name));
  return { ...Object.fromEntries(kept), npm_config_prefer_offline: 'true', npm_config_update_notifier: 'false' };
}

/** Of which sources `dist` was made. */
function stamp(folder: string): string {
  return readFileSync(join(folder, 'dist', '.stamp'), 'utf8');
}

async function run(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { child, output } = start(command, args, cwd, env);
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0)
    throw new Error(`${[command, ...args].join(' ')} ended with ${String(code)}:\n${output().slice(-4_000)}`);
  return output();
}

test('both stages stand on one base, which the builder may pin', () => {
  expect(before).toEqual([expect.stringMatching(/^ARG NODE_IMAGE=node:\d+-bookworm-slim$/)]);
  expect(stages.map(({ base, name }) => [base, name])).toEqual([
    ['${NODE_IMAGE}', 'build'],
    ['${NODE_IMAGE}', null],
  ]);
});

test('what .dockerignore names stays out: secrets, packages, what was built', () => {
  const patterns = readFileSync(join(ROOT, '.dockerignore'), 'utf8').trim().split('\n');
  // Only forms that are understood here.
  expect(patterns.filter((pattern) => !/^(\*\*\/)?[\w.*-]+(\/[\w.-]+)*$/.test(pattern))).toEqual([]);
  for (const file of [
    '.env',
    'apps/x/.env',
    'node_modules/pg/package.json',
    'dist/a.js',
    'docker/tls/certificates/ca.key',
    'a/b.log',
  ])
    expect([file, isIgnored(file, patterns)]).toEqual([file, true]);
  for (const file of ['package.json', '.npmrc', '.env.example', 'apps/gateway/src/main.ts', 'apps/distance.ts'])
    expect([file, isIgnored(file, patterns)]).toEqual([file, false]);
});

test(
  'every line of the build stage succeeds',
  async () => {
    const lock = (): string => readFileSync(join(ROOT, 'node_modules', '.package-lock.json'), 'utf8');
    const installed = lock();
    copyContext(ROOT, stageFolder);
    const [install, ...lines] = (build?.instructions ?? [])
      .filter(({ word }) => word === 'RUN')
      .map(({ rest }) => rest);
    expect(install).toBe('npm ci --include=dev');
    linkPackages(join(ROOT, 'node_modules'), join(stageFolder, 'node_modules'));
    cpSync(join(ROOT, 'dist'), join(stageFolder, 'dist'), { recursive: true });
    const made = stamp(ROOT);
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) {
      const output = await run('/bin/sh', ['-c', line], stageFolder, npmSettings());
      // It would be built anew if a single source differed, or were kept out of the image: the stamp is a hash of them all.
      expect(output).not.toMatch(/Building(?! the site)/);
    }
    expect(stamp(stageFolder)).toBe(made);
    expect(lock() === installed).toBe(true);
  },
  BUILD_TIMEOUT_MS,
);

test('what the image takes from the build is there', () => {
  const copies = (image?.instructions ?? []).filter(({ word }) => word === 'COPY').map(({ rest }) => rest);
  expect(copies.filter((rest) => !rest.startsWith('--from=build /app/'))).toEqual([]);
  mkdirSync(imageFolder);
  for (const rest of copies) takeFromStage(stageFolder, imageFolder, rest);
});

test('its list names every package with version, checksum and licence, and no other', () => {
  const { bomFormat, components } = JSON.parse(readFileSync(join(imageFolder, 'dist', 'sbom.cdx.json'), 'utf8')) as {
    bomFormat: string;
    components: { purl: string; hashes?: unknown[]; licenses?: unknown[]; properties: unknown[] }[];
  };
  expect(bomFormat).toBe('CycloneDX');
  const listed = new Set(components.map(({ purl }) => purl));
  expect([...listed].sort()).toEqual([...new Set(packagesIn(join(imageFolder, 'node_modules')))].sort());

  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<
      string,
      { version: string; dev?: boolean; optional?: boolean; devOptional?: boolean; link?: boolean }
    >;
  };
  const needed = Object.entries(packages)
    .filter(([path, each]) => path !== '' && !each.dev && !each.optional && !each.devOptional && !each.link)
    .map(([path, { version }]) => packageUrl(path.split('node_modules/').at(-1) ?? '', version));
  expect(needed.length).toBeGreaterThan(200);
  expect(needed.filter((purl) => !listed.has(purl))).toEqual([]);

  expect(components.filter(({ hashes = [] }) => hashes.length === 0)).toEqual([]);
  // SECURITY.md names them.
  const inFileAlone = { 'pkg:npm/pause@0.0.1': 'pause/Readme.md', 'pkg:npm/png-js@2.0.0': 'png-js/LICENSE' };
  const without = components.filter(({ licenses = [] }) => licenses.length === 0).map(({ purl }) => purl);
  expect(without.sort()).toEqual(Object.keys(inFileAlone));
  for (const file of Object.values(inFileAlone))
    expect(readFileSync(join(imageFolder, 'node_modules', file), 'utf8')).toMatch(/MIT License/);
});

describe('from there alone', () => {
  const { services } = readComposeFile();
  let settings: Record<string, string>;

  beforeAll(async () => {
    // The one that a test is given has been migrated already.
    const name = `${new URL(database.url).pathname.slice(1)}_image`;
    const admin = new pg.Client({ connectionString: database.adminUrl });
    await admin.connect();
    await admin.query(`CREATE DATABASE ${name} OWNER fiscal_owner`);
    await admin.end();
    const at = (url: string): string => Object.assign(new URL(url), { pathname: `/${name}` }).href;
    const port = await freePorts(5);
    const portOf = (index: number): string => String(port + index);
    settings = {
      ...{ DATABASE_URL: at(database.url), MIGRATE_DATABASE_URL: at(database.ownerUrl) },
      ...{ SECRETS_KEY: randomBytes(32).toString('base64'), DATA_DIR: join(folder, 'data'), NODE_ENV: 'production' },
      ...{ GATEWAY_PORT: portOf(0), RELAY_PORT: portOf(1), REGISTER_PORT: portOf(2), OFD_PORT: portOf(3) },
      ...{
        PAYMENTS_SIM_PORT: portOf(4),
        LINK_PUBLIC_URL: `ws://127.0.0.1:${portOf(1)}/link`,
        // A container has one address, the machine of this test may have several.
        RELAY_URL: `http://127.0.0.1:${portOf(1)}`,
        STOP_LISTENER_AFTER_MS: '0',
      },
    };
  });

  afterAll(async () => {
    await Promise.all(running.map(end));
    const admin = new pg.Client({ connectionString: database.adminUrl });
    await admin.connect();
    await admin.query(
      `DROP DATABASE IF EXISTS ${new URL(settings['DATABASE_URL'] ?? '').pathname.slice(1)} WITH (FORCE)`,
    );
    await admin.end();
  });

  const commandOf = (service: string): [string, string[]] => {
    const [command = '', ...args] = services[service]?.command ?? [];
    return [command, args];
  };

  test('the database is migrated', async () => {
    expect(await run(...commandOf('migrate'), imageFolder, settings)).toContain('Applied: ');
  });

  test.each([
    ['gateway', 'GATEWAY_PORT', '/readyz'],
    ['device-relay', 'RELAY_PORT', '/readyz'],
    ['register', 'REGISTER_PORT', '/status'],
    ['ofd', 'OFD_PORT', '/documents'],
    ['payments-simulator', 'PAYMENTS_SIM_PORT', '/healthz'],
  ])('%s becomes ready, as its health check says', async (service, port, path) => {
    const { child, output } = start(...commandOf(service), imageFolder, settings);
    running.push(child);
    const check = ['scripts/healthcheck.mjs', `http://127.0.0.1:${settings[port] ?? ''}${path}`];
    const isReady = (): Promise<boolean> =>
      run('node', check, imageFolder, {}).then(
        () => true,
        () => false,
      );
    await until(service, isReady, (ready) => ready || child.exitCode !== null);
    expect([child.exitCode, output()]).toEqual([null, expect.not.stringContaining('ERR_MODULE_NOT_FOUND')]);
  });
});
