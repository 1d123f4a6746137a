// Promise: the commands, settings and health checks in docker-compose.yml start a working system (tried without containers).
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { startOwnServer, type OwnServer } from '../../libs/database/src/testing/index.js';
import { interpolate, readComposeFile } from './compose-file.js';

const ROOT = join(import.meta.dirname, '..', '..');
const { services } = readComposeFile();
const password = (): string => randomBytes(24).toString('hex');
const passwords = { OWNER_PASSWORD: password(), APP_PASSWORD: password(), REDIS_PASSWORD: password() };
const variables = { ...passwords, SECRETS_KEY: randomBytes(32).toString('base64') };
const folder = mkdtempSync(join(tmpdir(), 'fiscal-compose-'));
const running: ChildProcess[] = [];
let postgres: OwnServer;
/** What the containers' names and fixed ports become on this machine. */
let stageSet: [string, string][] = [];

beforeAll(async () => {
  postgres = await startOwnServer();
  const port = await freePorts(6);
  const local = [8080, 8081, 8765, 8757, 8756].map((each) => `127.0.0.1:${each}`);
  const hosts = ['redis:6379', 'ofd:8756', ...local];
  const ports = [port, port + 1, port + 2, port + 3, port + 4, port + 5, port + 1];
  stageSet = [
    ['@postgres:5432/', `@${new URL(postgres.adminUrl).host}/`],
    ...hosts.map((host, index): [string, string] => [host, `127.0.0.1:${ports[index]}`]),
  ];
  await createOwner();
});

afterAll(async () => {
  await Promise.all(
    running
      .filter(({ exitCode }) => exitCode === null)
      .map((child) => {
        const gone = once(child, 'exit');
        child.kill('SIGTERM');
        return gone;
      }),
  );
  await postgres.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** The script that the PostgreSQL image runs on an empty volume, on a server without our roles. */
async function createOwner(): Promise<void> {
  const script = readFileSync(join(ROOT, 'docker', 'create-owner.sh'), 'utf8');
  const statements = /<<'SQL'\n([\s\S]*?)\nSQL/
    .exec(script)?.[1]
    ?.replace(":'password'", `'${passwords.OWNER_PASSWORD}'`);
  const admin = new pg.Client({ connectionString: postgres.adminUrl });
  await admin.connect();
  try {
    await admin.query('DROP DATABASE IF EXISTS fiscal');
    await admin.query('DROP ROLE fiscal_app_tenant, fiscal_app, fiscal_owner');
    for (const statement of (statements ?? '').split(';').filter((part) => part.trim() !== ''))
      await admin.query(statement);
  } finally {
    await admin.end();
  }
}

function onThisMachine(text: string): string {
  return stageSet.reduce((result, [from, to]) => result.replaceAll(from, to), interpolate(text, variables));
}

function environmentOf(name: string): NodeJS.ProcessEnv {
  const dataDir = join(folder, name);
  mkdirSync(dataDir, { recursive: true });
  // Each container has 9464 for itself; here the first program would have it.
  const given = Object.entries(services[name]?.environment ?? {}).filter(([key]) => key !== 'METRICS_PORT');
  const entries = given.map(([key, value]) => {
    if (key === 'DATA_DIR') return [key, dataDir];
    // A port alone ("8080") becomes the port that its address became.
    if (key.endsWith('_PORT')) return [key, onThisMachine(`127.0.0.1:${value}`).split(':')[1]];
    return [key, onThisMachine(String(value))];
  });
  return { PATH: process.env['PATH'], ...(Object.fromEntries(entries) as NodeJS.ProcessEnv) };
}

function run(name: string, extraArgs: string[] = []): { child: ChildProcess; output: () => string } {
  const [command = '', ...args] = [...(services[name]?.command ?? []), ...extraArgs].map(onThisMachine);
  const child = spawn(command, args, { cwd: ROOT, env: environmentOf(name) });
  running.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { child, output: () => output };
}

/** Runs the health check of the compose file until it says yes. */
async function becomesHealthy(name: string, { child, output }: ReturnType<typeof run>): Promise<void> {
  const [, command = '', ...args] = (services[name]?.healthcheck?.test ?? []).map(onThisMachine);
  const port = stageSet.find(([host]) => host === `${name}:6379`)?.[1].split(':')[1];
  const allArgs = port === undefined ? args : ['-p', port, ...args];
  for (const deadline = Date.now() + 90_000; Date.now() < deadline && child.exitCode === null;) {
    if (spawnSync(command, allArgs, { cwd: ROOT, env: environmentOf(name) }).status === 0) return;
    await delay(200);
  }
  throw new Error(`${name} is not healthy:\n${output().slice(-4_000)}`);
}

// For a developer without Redis; CI has it, or fails.
const mayRun = spawnSync('redis-server', ['--version']).status === 0 || process.env['CI'] === 'true';

(mayRun ? test : test.skip)(
  'migrate, then everything becomes healthy with the settings of the file',
  async () => {
    const redisPort = stageSet.find(([host]) => host === 'redis:6379')?.[1].split(':')[1] ?? '';
    await becomesHealthy('redis', run('redis', ['--port', redisPort, '--dir', folder, '--bind', '127.0.0.1']));

    const migration = run('migrate');
    const [code] = (await once(migration.child, 'exit')) as [number];
    expect([code, migration.output()]).toEqual([0, expect.stringContaining('Applied: ')]);

    for (const name of ['ofd', 'register', 'payments-simulator', 'gateway', 'device-relay'])
      await becomesHealthy(name, run(name));
  },
  240_000,
);

(mayRun ? test : test.skip)(
  'a health check says no when its program is gone',
  async () => {
    const ofd = running.at(-5);
    const gone = once(ofd!, 'exit');
    ofd?.kill('SIGTERM');
    await gone;
    const [, command = '', ...args] = (services['ofd']?.healthcheck?.test ?? []).map(onThisMachine);
    expect(spawnSync(command, args, { cwd: ROOT }).status).toBe(1);
  },
  30_000,
);

test('a program refuses to start on a bad setting and names it', () => {
  const command = services['gateway']?.command ?? [];
  const env = { ...environmentOf('gateway'), GATEWAY_PORT: 'eighty', SECRETS_KEY: 'short' };
  const refused = spawnSync(command[0] ?? '', command.slice(1), { cwd: ROOT, env, encoding: 'utf8' });
  expect(refused.status).toBe(1);
  const said = `${refused.stdout}${refused.stderr}`;
  expect(said).toContain('GATEWAY_PORT');
  expect(said).toContain('SECRETS_KEY');
  expect(said).not.toContain('    at ');
});
