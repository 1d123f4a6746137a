// Promise: a program refuses to start on bad settings, names all of them in one sentence and shows no secret.
import {
  boolean,
  cidrList,
  decodeBytes,
  integer,
  oneOf,
  origin,
  parsed,
  path,
  port,
  proxyList,
  readSettings,
  SettingsError,
  text,
  url,
} from './settings.js';

/** As the key ring does (libs/secrets). */
function readKey(raw: string): Buffer {
  const bytes = decodeBytes(raw, 32);
  if (!bytes) throw new Error('must be 32 bytes');
  return bytes;
}

function failure(run: () => unknown): SettingsError {
  try {
    run();
  } catch (error) {
    if (error instanceof SettingsError) return error;
    throw error;
  }
  throw new Error('expected a SettingsError');
}

test('reads typed values, defaults and absent optionals', () => {
  const settings = readSettings(
    {
      GATEWAY_PORT: port().default(8080),
      RELAY_PORT: port().default(8081),
      EMULATOR: boolean().default(false),
      VAT_RULE: oneOf(['unit', 'line', 'line-net']).default('unit'),
      QUEUE_URL: url(['redis', 'rediss']).optional(),
      DATABASE_URL: url(['postgres', 'postgresql']),
      TRUSTED_PROXIES: cidrList().default([]),
      SECRETS_KEY: parsed(readKey),
      DATA_DIR: path(),
      NAME: text().optional(),
    },
    {
      GATEWAY_PORT: '9000',
      RELAY_PORT: '',
      EMULATOR: 'true',
      DATABASE_URL: 'postgresql://u:p@127.0.0.1/db',
      TRUSTED_PROXIES: '10.0.0.0/8, 192.168.1.1',
      SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
      DATA_DIR: 'somewhere',
    },
  );
  expect(settings.GATEWAY_PORT).toBe(9000);
  expect(settings.RELAY_PORT).toBe(8081);
  expect(settings.EMULATOR).toBe(true);
  expect(settings.VAT_RULE).toBe('unit');
  expect(settings.QUEUE_URL).toBeUndefined();
  expect(settings.TRUSTED_PROXIES.map((cidr) => cidr.text)).toEqual(['10.0.0.0/8', '192.168.1.1/32']);
  expect(settings.SECRETS_KEY).toEqual(Buffer.alloc(32, 7));
  expect(settings.DATA_DIR).toMatch(/^\/.*somewhere$/);
});

test('names every bad variable at once', () => {
  const error = failure(() =>
    readSettings(
      {
        GATEWAY_PORT: port(),
        VAT_RULE: oneOf(['unit', 'line']),
        DATABASE_URL: url(['postgresql']),
        FM_MIN_INTERVAL_MS: integer(),
      },
      { GATEWAY_PORT: '80 80', VAT_RULE: 'each', FM_MIN_INTERVAL_MS: '1.5' },
    ),
  );
  expect(error.faults.map((fault) => fault.key)).toEqual([
    'GATEWAY_PORT',
    'VAT_RULE',
    'DATABASE_URL',
    'FM_MIN_INTERVAL_MS',
  ]);
  expect(error.message).toContain('GATEWAY_PORT must be a whole number from 0 to 65535, not "80 80"');
  expect(error.message).toContain('DATABASE_URL is missing');
});

test('never repeats a secret', () => {
  const table = { SECRETS_KEY: parsed(readKey), DATABASE_URL: url(['postgresql']) };
  const error = failure(() =>
    readSettings(table, { SECRETS_KEY: 'hunter2secret', DATABASE_URL: 'mysql://u:hunter2@h/db' }),
  );
  expect(error.faults).toHaveLength(2);
  expect(error.message).not.toContain('hunter2');
});

test.each([
  'true',
  '1',
  '10.0.0.0/33',
  '10.0.0.1/8',
  '::ffff:10.0.0.0/104',
  '::ffff:0:0/96',
  '::/8',
  '2',
  'loopback',
  '0.0.0.0/0',
  'fe80::1%eth0',
  '0177.0.0.1',
  '127.1',
])('refuses %s as a network', (value) => {
  expect(failure(() => readSettings({ LIST: cidrList() }, { LIST: value })).faults).toHaveLength(1);
});

test.each(['0.0.0.0/1', '128.0.0.0/1', '8.0.0.0/6', '104.0.0.0/11', '2000::/3', '2a00::/27', 'fc00::/7', '10.0.0.0/7'])(
  'refuses %s as trusted proxies: too wide',
  (value) => {
    const error = failure(() =>
      readSettings({ TRUSTED_PROXIES: proxyList() }, { TRUSTED_PROXIES: `10.0.0.7,${value}` }),
    );
    expect(error.message).toMatch(/TRUSTED_PROXIES must be .*(too wide|bits are set)/);
  },
);

test('takes what private networks and content delivery networks are as trusted proxies', () => {
  const value = '10.0.0.0/8,172.16.0.0/12,127.0.0.1,fd00::/8,104.16.0.0/12,2a06:98c0::/29,203.0.113.7';
  expect(readSettings({ TRUSTED_PROXIES: proxyList() }, { TRUSTED_PROXIES: value }).TRUSTED_PROXIES).toHaveLength(7);
});

test('an origin has no path, and none of its spellings a slash at the end', () => {
  const table = { PUBLIC_URL: origin(['http', 'https']) };
  for (const good of ['https://shop.uz', 'https://shop.uz/', 'HTTPS://Shop.uz:443'])
    expect(readSettings(table, { PUBLIC_URL: good })).toEqual({ PUBLIC_URL: 'https://shop.uz' });
  expect(readSettings(table, { PUBLIC_URL: 'http://127.0.0.1:8080' }).PUBLIC_URL).toBe('http://127.0.0.1:8080');
  const bad = [
    'https://shop.uz/pay',
    'https://shop.uz/?a',
    'https://shop.uz?',
    'https://shop.uz#',
    'https://a:b@shop.uz',
  ];
  for (const one of [...bad, 'ftp://shop.uz', 'shop.uz'])
    expect(failure(() => readSettings(table, { PUBLIC_URL: one })).message).toContain('without a path');
});
