// Promise: the commands, settings and health checks in docker-compose.yml start a working system (tried without containers).
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { startOwnServer, type OwnServer } from '../../libs/database/src/testing/index.js';
import { readComposeFile } from './compose-file.js';
import { ComposePrograms, createOwner } from './compose-programs.js';

const ROOT = join(import.meta.dirname, '..', '..');
const { services } = readComposeFile();
const password = (): string => randomBytes(24).toString('hex');
const passwords = { OWNER_PASSWORD: password(), APP_PASSWORD: password(), REDIS_PASSWORD: password() };
const variables = { ...passwords, SECRETS_KEY: randomBytes(32).toString('base64') };
const folder = mkdtempSync(join(tmpdir(), 'fiscal-compose-'));
let postgres: OwnServer;
let programs: ComposePrograms;
let redisPort = '';

beforeAll(async () => {
  postgres = await startOwnServer();
  const port = await freePorts(6);
  redisPort = String(port);
  const local = [8080, 8081, 8765, 8757, 8756].map((each) => `127.0.0.1:${each}`);
  const hosts = ['redis:6379', 'ofd:8756', ...local];
  const ports = [port, port + 1, port + 2, port + 3, port + 4, port + 5, port + 1];
  const places: [string, string][] = [
    ['@postgres:5432/', `@${new URL(postgres.adminUrl).host}/`],
    ...hosts.map((host, index): [string, string] => [host, `127.0.0.1:${ports[index]}`]),
  ];
  programs = new ComposePrograms({ services, variables, folder, places });
  await createOwner(postgres.adminUrl, passwords.OWNER_PASSWORD);
});

afterAll(async () => {
  await programs?.end();
  await postgres?.remove();
  rmSync(folder, { recursive: true, force: true });
});

// For a developer without Redis; CI has it, or fails.
const mayRun = spawnSync('redis-server', ['--version']).status === 0 || process.env['CI'] === 'true';

(mayRun ? test : test.skip)('migrate, then everything becomes healthy with the settings of the file', async () => {
  const redis = programs.run('redis', ['--port', redisPort, '--dir', folder, '--bind', '127.0.0.1']);
  await programs.becomesHealthy('redis', redis);

  const migration = programs.run('migrate');
  const [code] = (await once(migration.child, 'exit')) as [number];
  expect([code, migration.output()]).toEqual([0, expect.stringContaining('Applied: ')]);

  for (const name of ['ofd', 'register', 'payments-simulator', 'gateway', 'device-relay'])
    await programs.becomesHealthy(name, programs.run(name));
});

(mayRun ? test : test.skip)('a health check says no when its program is gone', async () => {
  const ofd = programs.running.at(-5);
  const gone = once(ofd!, 'exit');
  ofd?.kill('SIGTERM');
  await gone;
  expect(programs.ask('ofd')).toBe(1);
});

test('a program refuses to start on a bad setting and names it', () => {
  const command = services['gateway']?.command ?? [];
  const env = { ...programs.environmentOf('gateway'), GATEWAY_PORT: 'eighty', SECRETS_KEY: 'short' };
  const refused = spawnSync(command[0] ?? '', command.slice(1), { cwd: ROOT, env, encoding: 'utf8' });
  expect(refused.status).toBe(1);
  const said = `${refused.stdout}${refused.stderr}`;
  expect(said).toContain('GATEWAY_PORT');
  expect(said).toContain('SECRETS_KEY');
  expect(said).not.toContain('    at ');
});
