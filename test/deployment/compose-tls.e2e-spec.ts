// Promise: with docker-compose.tls.yml nothing between programs, PostgreSQL and Redis goes without TLS, and a server of another authority is refused.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { createCluster, spawnServer, stopServer } from '../../scripts/lib/postgres-cluster.mjs';
import { findServiceAccount } from '../../scripts/lib/service-account.mjs';
import { findPackaged } from '../recovery/packaged-postgres.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { interpolate, mergedComposeFile, readComposeFile } from './compose-file.js';
import { ComposePrograms, createOwner } from './compose-programs.js';

const ROOT = join(import.meta.dirname, '..', '..');
const packaged = findPackaged();
const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
// For a developer without these programs; CI has them, or fails.
const heldTest = (packaged !== null && hasRedis) || process.env['CI'] === 'true' ? test : test.skip;

const { services } = mergedComposeFile(readComposeFile(), readComposeFile('docker-compose.tls.yml'));
const password = (): string => randomBytes(24).toString('hex');
const passwords = { OWNER_PASSWORD: password(), APP_PASSWORD: password(), REDIS_PASSWORD: password() };
const variables = { ...passwords, SECRETS_KEY: randomBytes(32).toString('base64') };
const folder = mkdtempSync(join(tmpdir(), 'fiscal-tls-'));
const account = findServiceAccount();
const adminPassword = password();
let postgresPid = 0;
let programs: ComposePrograms;
let ports = { postgres: 0, redis: 0 };

afterAll(async () => {
  await programs?.end();
  if (postgresPid > 0) await stopServer(postgresPid, 10_000);
  rmSync(folder, { recursive: true, force: true });
});

function certificates(name: string, ...names: string[]): string {
  const made = spawnSync('sh', [join(ROOT, 'docker', 'tls', 'make-certificates.sh'), join(folder, name), ...names], {
    encoding: 'utf8',
  });
  expect([made.status, made.stderr]).toEqual([0, '']);
  return join(folder, name);
}

/** What the entrypoints of the file do: each server has its key as a file of its own user's. */
function keysFor(server: string, from: string): string {
  const own = join(folder, `keys-of-${server}`);
  mkdirSync(own);
  for (const file of [`${server}.crt`, `${server}.key`]) spawnSync('install', ['-m', '600', join(from, file), own]);
  if (server === 'postgres' && account)
    for (const file of ['postgres.crt', 'postgres.key']) chownSync(join(own, file), account.uid, account.gid);
  return own;
}

function startPostgres(keys: string): string {
  const [bin, major] = [packaged?.bin ?? '', packaged?.major ?? 0];
  const clusterDir = join(folder, 'data');
  const [initdb, postgres] = [join(bin, 'initdb'), join(bin, 'postgres')];
  const cluster = { clusterDir, account, binaries: { folder: bin, version: String(major), major, initdb, postgres } };
  createCluster(cluster, adminPassword, { durable: false });
  const words = (services['postgres']?.command ?? []).map((word) => interpolate(word, variables));
  const given = words.flatMap((word, index) => (word === '-c' ? [words[index + 1] ?? ''] : []));
  const settings = Object.fromEntries(
    given.map((each) => [each.split('=')[0] ?? '', each.split('=').slice(1).join('=')]),
  );
  for (const name of ['ssl_cert_file', 'ssl_key_file'])
    settings[name] = (settings[name] ?? '').replace('/tmp/tls', keys);
  settings['hba_file'] = (settings['hba_file'] ?? '').replace('/etc/fiscal', join(ROOT, 'docker', 'tls'));
  const log = openSync(join(folder, 'postgres.log'), 'a');
  const child = spawnServer(cluster, { port: ports.postgres, log, settings: { ...settings, fsync: 'off' } });
  postgresPid = child.pid ?? 0;
  return `postgresql://postgres:${adminPassword}@127.0.0.1:${String(ports.postgres)}/postgres`;
}

async function outcomeOf(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  // Some refusals come as an event as well.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string }>(
      'SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
    );
    return rows[0]?.version ?? 'none';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

heldTest('everything becomes healthy over TLS, and neither server answers without it', async () => {
  chmodSync(folder, 0o755);
  const made = certificates('ours', '127.0.0.1');
  const first = await freePorts(4);
  ports = { postgres: first, redis: first + 1 };
  const redisKeys = keysFor('redis', made);
  const redisAddress = `127.0.0.1:${String(ports.redis)}`;
  const places: [string, string][] = [
    ['@postgres:5432/', `@127.0.0.1:${String(ports.postgres)}/`],
    ['@redis:6379', `@${redisAddress}`],
    ['/tls/ca.crt', join(made, 'ca.crt')],
    ['/tmp/tls', redisKeys],
    ['127.0.0.1:8080', `127.0.0.1:${String(first + 2)}`],
    ['127.0.0.1:8081', `127.0.0.1:${String(first + 3)}`],
    // For the health check of Redis alone.
    ['redis:6379', redisAddress],
  ];
  programs = new ComposePrograms({ services, variables, folder, places });
  const adminUrl = startPostgres(keysFor('postgres', made));
  const ca = join(made, 'ca.crt');
  const verified = `${adminUrl}?sslmode=verify-full&sslrootcert=${ca}`;
  await until(
    'PostgreSQL answers',
    () => outcomeOf(verified),
    (said) => said.startsWith('TLSv1'),
  );
  expect(await outcomeOf(adminUrl)).toMatch(/no pg_hba\.conf entry.*no encryption/);
  await createOwner(verified, passwords.OWNER_PASSWORD);

  const redis = programs.run('redis', ['--tls-port', String(ports.redis), '--dir', folder, '--bind', '127.0.0.1']);
  await programs.becomesHealthy('redis', redis);
  const plain = new Redis(ports.redis, '127.0.0.1', {
    password: passwords.REDIS_PASSWORD,
    retryStrategy: () => null,
  });
  plain.on('error', () => undefined);
  await expect(plain.ping()).rejects.toThrow();
  plain.disconnect();

  const migration = programs.run('migrate');
  const [code] = (await once(migration.child, 'exit')) as [number];
  expect([code, migration.output()]).toEqual([0, expect.stringContaining('Applied: ')]);
  for (const name of ['gateway', 'device-relay']) await programs.becomesHealthy(name, programs.run(name));
  const watcher = new pg.Client({ connectionString: verified });
  await watcher.connect();
  const { rows } = await watcher.query<{ ssl: boolean }>(
    "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename LIKE 'fiscal%'",
  );
  await watcher.end();
  expect(rows).toEqual([{ ssl: true }]);
});

heldTest('a program does not speak to servers of another authority', async () => {
  const foreign = join(certificates('foreign'), 'ca.crt');
  const env = programs.environmentOf('gateway');
  const swapped = Object.entries(env).map(([key, value]) => [
    key,
    value?.replace(join(folder, 'ours', 'ca.crt'), foreign),
  ]);
  const [command = '', ...args] = services['migrate']?.command ?? [];
  const migrate = spawnSync(command, args, {
    cwd: ROOT,
    encoding: 'utf8',
    env: {
      ...(Object.fromEntries(swapped) as NodeJS.ProcessEnv),
      MIGRATE_DATABASE_URL: (programs.environmentOf('migrate')['MIGRATE_DATABASE_URL'] ?? '').replace(
        join(folder, 'ours', 'ca.crt'),
        foreign,
      ),
    },
  });
  expect(migrate.status).not.toBe(0);
  expect(`${migrate.stdout}${migrate.stderr}`).toMatch(/certificate/);
  const stranger = spawn('redis-cli', [
    '--tls',
    '--cacert',
    foreign,
    '-h',
    '127.0.0.1',
    '-p',
    String(ports.redis),
    'ping',
  ]);
  let said = '';
  stranger.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await once(stranger, 'close');
  expect(said).toMatch(/certificate verify failed/);
});

test('certificates that are good stay; keys are for their owner alone', () => {
  const made = certificates('again', 'db.example.uz');
  const before = readFileSync(join(made, 'postgres.crt'), 'utf8');
  certificates('again', 'db.example.uz');
  expect(readFileSync(join(made, 'postgres.crt'), 'utf8')).toBe(before);
  for (const key of ['ca.key', 'postgres.key', 'redis.key']) expect(statSync(join(made, key)).mode & 0o777).toBe(0o600);
  const shown = spawnSync('openssl', ['x509', '-in', join(made, 'postgres.crt'), '-noout', '-text'], {
    encoding: 'utf8',
  });
  expect(shown.stdout).toContain('DNS:postgres, DNS:localhost, DNS:db.example.uz');
});
