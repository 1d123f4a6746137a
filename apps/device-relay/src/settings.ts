import { resolve } from 'node:path';
import { parseTimeOfDay } from '#fiscal-domain';
import {
  cidrList,
  integer,
  LOG_LEVELS,
  METRICS_SETTINGS,
  oneOf,
  parsed,
  path,
  port,
  proxyList,
  readSettings,
  SettingsError,
  TRACING_SETTINGS,
  url,
  workers,
  type Settings,
} from '#runtime';
import { ARCHIVE_SETTINGS, checkArchiveSettings } from '#ledger';
import { checkedQueueUrl } from '#queue';
import { parseKeyring } from '#secrets';

/** Every setting of this program; .env.example says what each is for. */
export const SETTINGS = {
  DATABASE_URL: url(['postgres', 'postgresql']),
  DIRECT_DATABASE_URL: url(['postgres', 'postgresql']).optional(),
  LANE_POOL_SIZE: integer({ min: 2, max: 1_000 }).default(12),
  WATCH_POOL_SIZE: integer({ min: 2, max: 1_000 }).default(6),
  LINK_POOL_SIZE: integer({ min: 2, max: 1_000 }).default(4),
  SANDBOX_POOL_SIZE: integer({ min: 1, max: 100 }).default(2),
  QUEUE_URL: parsed(checkedQueueUrl).optional(),
  SECRETS_KEY: parsed(parseKeyring),
  RELAY_PORT: port().default(8081),
  RELAY_WORKERS: workers().default(1),
  RELAY_WORKER_PORT: port().default(0),
  RELAY_URL: url(['http', 'https']).optional(),
  LINK_PUBLIC_URL: url(['wss', 'ws']).default('ws://127.0.0.1:8081/link'),
  DEVICE_ALLOWED_CIDRS: cidrList().default([]),
  TRUSTED_PROXIES: proxyList().default([]),
  RELAY_LANE_PLACES: integer({ min: 1, max: 10_000 }).default(200),
  RELAY_LANES_ASIDE: integer({ min: 0, max: 50_000 }).default(4_000),
  HEALTH_POLL_MS: integer({ min: 100, max: 3_600_000 }).default(60_000),
  HEALTH_POLL_CONCURRENCY: integer({ min: 1, max: 2_000 }).default(200),
  OFD_RESEND_MS: integer({ min: 100, max: 6 * 3_600_000 }).default(900_000),
  SHIFT_CLOSE_AT: parsed(timeOfDay).default('23:50'),
  DATA_DIR: path().default(resolve('.data/relay')),
  ...ARCHIVE_SETTINGS,
  ATTEMPTS_KEEP_DAYS: integer({ min: 91, max: 36_500 }).default(395),
  RECEIPTS_KEEP_DAYS: integer({ min: 396, max: 36_500 }).default(1_827),
  WEBHOOK_KEEP_DAYS: integer({ min: 1, max: 3_650 }).default(30),
  EVENTS_KEEP_DAYS: integer({ min: 30, max: 36_500 }).optional(),
  PAYMENT_CALLS_KEEP_DAYS: integer({ min: 91, max: 36_500 }).default(395),
  STOP_DEADLINE_MS: integer({ min: 1_000, max: 3_600_000 }).default(65_000),
  STOP_LISTENER_AFTER_MS: integer({ max: 600_000 }).default(5_000),
  DEVICE_METRICS_MAX: integer({ max: 100_000 }).default(2_000),
  ...METRICS_SETTINGS,
  ...TRACING_SETTINGS,
  LOG_LEVEL: oneOf(LOG_LEVELS).default('info'),
};

export type RelaySettings = Settings<typeof SETTINGS>;

/** @throws SettingsError naming every bad setting */
export function loadSettings(env: NodeJS.ProcessEnv = process.env): RelaySettings {
  const settings = readSettings(SETTINGS, env);
  checkArchiveSettings(settings);
  const { RELAY_URL, RELAY_WORKERS, EVENTS_KEEP_DAYS, WEBHOOK_KEEP_DAYS } = settings;
  // Each worker announces this address with a port of its own, and what answers there speaks no TLS.
  if (RELAY_WORKERS > 1 && RELAY_URL !== undefined && new URL(RELAY_URL).protocol === 'https:')
    throw new SettingsError([
      {
        key: 'RELAY_URL',
        fault: 'must begin with http:// where RELAY_WORKERS is more than 1: ports of workers have no TLS',
      },
    ]);
  if (EVENTS_KEEP_DAYS !== undefined && EVENTS_KEEP_DAYS < WEBHOOK_KEEP_DAYS)
    throw new SettingsError([
      {
        key: 'EVENTS_KEEP_DAYS',
        fault: `must be at least WEBHOOK_KEEP_DAYS, which is ${WEBHOOK_KEEP_DAYS}: a delivery is shown with its event`,
      },
    ]);
  return settings;
}

/** Of events; as long as deliveries at least, which are shown with theirs. */
export function eventsKeepDays({ EVENTS_KEEP_DAYS, WEBHOOK_KEEP_DAYS }: RelaySettings): number {
  return EVENTS_KEEP_DAYS ?? Math.max(90, WEBHOOK_KEEP_DAYS);
}

function timeOfDay(raw: string): string {
  if (parseTimeOfDay(raw) === null) throw new Error('a time of day from 00:00 to 23:59');
  return raw;
}
