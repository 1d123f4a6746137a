// Promise: .env.example names every setting that a program reads, with a value the program accepts, and no others.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSettings, type SettingsTable } from '#runtime';
import { REGISTER_SETTINGS } from '../../apps/cash-register/src/settings.js';
import { OFD_SIMULATOR_SETTINGS } from '../../apps/ofd-simulator/src/settings.js';
import { AGENT_SETTINGS } from '../../apps/link-agent/src/settings.js';
import { SETTINGS as RELAY_SETTINGS } from '../../apps/device-relay/src/settings.js';
import { PAYMENTS_SIM_SETTINGS } from '../../apps/payments-simulator/src/settings.js';
import { SETTINGS as GATEWAY_SETTINGS } from '../../apps/gateway/src/settings.js';

const ROOT = join(import.meta.dirname, '..', '..');
const example = parse(readFileSync(join(ROOT, '.env.example'), 'utf8'));

/** Read by the tools in scripts/, by docker-compose.yml, or reserved (contract of settings). */
const OF_NO_PROGRAM = [
  'MIGRATE_DATABASE_URL',
  'POSTGRES_PORT',
  'DATA_DIR',
  'OWNER_PASSWORD',
  'APP_PASSWORD',
  'GATEWAY_BIND',
  'ARCHIVE_VOLUME',
  'GRAFANA_PASSWORD',
  'REDIS_PASSWORD',
  ...['WAL_ARCHIVE', 'BACKUP_VOLUME', 'BACKUP_EVERY_HOURS', 'BACKUP_KEEP', 'BACKUP_MEMORY'],
  ...['PROMETHEUS_MEMORY', 'GRAFANA_MEMORY', 'TEMPO_MEMORY', 'LOKI_MEMORY', 'ALLOY_MEMORY', 'NODE_IMAGE'],
  ...['POSTGRES_IMAGE', 'REDIS_IMAGE', 'POSTGRES_CONNECTIONS', 'POSTGRES_MEMORY', 'REDIS_MEMORY', 'PROGRAM_MEMORY'],
  'VERSION',
];

const PROGRAMS: [string, SettingsTable][] = [
  ['gateway', GATEWAY_SETTINGS],
  ['device-relay', RELAY_SETTINGS],
  ['cash-register', REGISTER_SETTINGS],
  ['OFD simulator', OFD_SIMULATOR_SETTINGS],
  ['link agent', AGENT_SETTINGS],
  ['payments simulator', PAYMENTS_SIM_SETTINGS],
];

function parse(text: string): Map<string, string> {
  const lines = text.split('\n').map((line) => /^(?:# )?([A-Z][A-Z0-9_]+)=(.*)$/.exec(line));
  return new Map(lines.flatMap((match) => (match ? [[match[1] ?? '', match[2] ?? ''] as const] : [])));
}

test.each(PROGRAMS)('every setting of the %s is there', (_name, table) => {
  expect(Object.keys(table).filter((key) => !example.has(key))).toEqual([]);
});

test('nothing is there that no program reads', () => {
  const known = new Set([...PROGRAMS.flatMap(([, table]) => Object.keys(table)), ...OF_NO_PROGRAM]);
  expect([...example.keys()].filter((key) => !known.has(key))).toEqual([]);
});

test.each(PROGRAMS)('the %s accepts the values shown', (_name, table) => {
  const filledIn = {
    SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
    LINK_URL: 'wss://links.example/link?device=dev_1',
  };
  const shown = Object.fromEntries([...example].filter(([, value]) => value !== ''));
  expect(() => readSettings(table, { ...shown, ...filledIn })).not.toThrow();
});

test.each(PROGRAMS)('the defaults shown are the defaults of the %s', (_name, table) => {
  const exceptions = [
    'DATABASE_URL',
    'DIRECT_DATABASE_URL',
    'READ_DATABASE_URL',
    'QUEUE_URL',
    'SECRETS_KEY',
    'TRUSTED_PROXIES',
    'DEVICE_ALLOWED_CIDRS',
    'WEBHOOK_ALLOWED_CIDRS',
    'MESSAGE_ALLOWED_CIDRS',
    'DATA_DIR',
    'LINK_URL',
  ];
  const fields = Object.fromEntries(Object.entries(table).filter(([key]) => !exceptions.includes(key)));
  const shown = Object.fromEntries([...example].filter(([, value]) => value !== ''));
  expect(readSettings(fields, shown)).toEqual(readSettings(fields, {}));
});

test.each(['TRUSTED_PROXIES', 'DEVICE_ALLOWED_CIDRS', 'WEBHOOK_ALLOWED_CIDRS', 'MESSAGE_ALLOWED_CIDRS'])(
  '%s shows an example, and says what counts when it is unset',
  (name) => {
    const above = readFileSync(join(ROOT, '.env.example'), 'utf8').split(`\n# ${name}=`)[0] ?? '';
    expect(above.split('\n\n').at(-1)).toContain('Unset: none');
  },
);
