import {
  boolean,
  cidrList,
  integer,
  LOG_LEVELS,
  METRICS_SETTINGS,
  oneOf,
  origin,
  parsed,
  path,
  port,
  proxyList,
  readSettings,
  text,
  TRACING_SETTINGS,
  url,
  workers,
  type Logger,
  type Settings,
} from '#runtime';
import { ARCHIVE_SETTINGS, checkArchiveSettings } from '#ledger';
import { checkedQueueUrl } from '#queue';
import { parseKeyring } from '#secrets';
import { DEFAULT_CLIENT_LIMIT, parseRate } from './http/rate.js';
import { parseRoleRules } from './http/role-rules.js';
import { parseProviderHosts, PROVIDER_HOSTS } from '#payments';

/** The longest time that a customer may be given to pay. */
export const MAX_CUSTOMER_MS = 604_800_000;

/** Every setting of this program; .env.example says what each is for. */
export const SETTINGS = {
  DATABASE_URL: url(['postgres', 'postgresql']),
  DIRECT_DATABASE_URL: url(['postgres', 'postgresql']).optional(),
  READ_DATABASE_URL: url(['postgres', 'postgresql']).optional(),
  READ_MAX_AGE_MS: integer({ min: 1_000, max: 3_600_000 }).default(5_000),
  SALES_POOL_SIZE: integer({ min: 3, max: 1_000 }).default(10),
  API_POOL_SIZE: integer({ min: 2, max: 1_000 }).default(6),
  REPORT_POOL_SIZE: integer({ min: 1, max: 1_000 }).default(2),
  JOB_POOL_SIZE: integer({ min: 1, max: 100 }).default(2),
  ACCEPT_MAX_WAITING: integer({ min: 10, max: 1_000_000 }).default(5_000),
  LANE_WAKE: oneOf(['notice', 'queue']).default('notice'),
  QUEUE_URL: parsed(checkedQueueUrl).optional(),
  SECRETS_KEY: parsed(parseKeyring),
  GATEWAY_PORT: port().default(8080),
  GATEWAY_WORKERS: workers().default(1),
  PUBLIC_URL: origin(['http', 'https']).default('http://127.0.0.1:8080'),
  PUBLIC_HOSTS: parsed(parseHosts).default([]),
  CONSOLE_URL: url(['http', 'https']).optional(),
  LOGIN_LIMIT: parsed(parseRate).default(parseRate('10/600')),
  SESSION_IDLE_SECONDS: integer({ min: 4, max: 604_800 }).default(1_800),
  SESSION_MAX_SECONDS: integer({ min: 4, max: 2_592_000 }).default(43_200),
  STEP_UP_SECONDS: integer({ min: 1, max: 3_600 }).default(300),
  INVITATION_HOURS: integer({ min: 1, max: 720 }).default(72),
  EMBEDDED_LOGIN: boolean().default(true),
  OIDC_ISSUER: url(['http', 'https']).optional(),
  OIDC_CLIENT_ID: text().optional(),
  OIDC_CLIENT_SECRET: text().optional(),
  OIDC_NAME: text().default('Single sign-on'),
  OIDC_SCOPES: text().default('openid email profile'),
  OIDC_STEP_UP_ACR: text().optional(),
  OIDC_ROLES: parsed(parseRoleRules).default([]),
  LINK_PUBLIC_URL: url(['wss', 'ws']).default('ws://127.0.0.1:8081/link'),
  TRUSTED_PROXIES: proxyList().default([]),
  ADDRESS_LIMIT: parsed(parseRate).default(parseRate('50000/5')),
  CLIENT_LIMIT: parsed(parseRate).default(DEFAULT_CLIENT_LIMIT),
  FAILED_LOGIN_LIMIT: parsed(parseRate).default(parseRate('30/60')),
  FAILED_TOKEN_LIMIT: parsed(parseRate).default(parseRate('300/60')),
  TOKEN_LIMIT: parsed(parseRate).default(parseRate('600/60')),
  DEVICE_ALLOWED_CIDRS: cidrList().default([]),
  WEBHOOK_ALLOWED_CIDRS: cidrList().default([]),
  MESSAGE_ALLOWED_CIDRS: cidrList().default([]),
  MESSAGE_CALL_TIMEOUT_MS: integer({ min: 100, max: 25_000 }).default(10_000),
  MESSAGE_ADDRESS_KEEP_DAYS: integer({ min: 1, max: 3_650 }).default(30),
  MESSAGE_KEEP_DAYS: integer({ min: 31, max: 3_650 }).default(180),
  EVENT_STREAMS: integer({ min: 4, max: 10_000 }).default(256),
  EVENT_STREAMS_PER_CLIENT: integer({ min: 1, max: 1_000 }).default(8),
  MAX_DEVICES_PER_MERCHANT: integer({ min: 1, max: 1_000_000 }).default(10_000),
  CLASSIFIER_FULL_URL: url(['http', 'https']).optional(),
  CLASSIFIER_INACTIVE_URL: url(['http', 'https']).optional(),
  CLASSIFIER_CHANGES_URL: url(['http', 'https']).optional(),
  CLASSIFIER_FETCH_MS: integer({ min: 1_000, max: 604_800_000 }).default(86_400_000),
  OFD_CHECK_URL: url(['http', 'https']).default('https://ofd.soliq.uz/check'),
  PROVIDER_ALLOWED_CIDRS: cidrList().default([]),
  PROVIDER_HOSTS: parsed(parseProviderHosts).default(parseProviderHosts(PROVIDER_HOSTS)),
  PAYMENT_CALL_TIMEOUT_MS: integer({ min: 100, max: 25_000 }).default(10_000),
  PAYMENT_SETTLE_MS: integer({ min: 200, max: 3_600_000 }).default(60_000),
  PAYMENT_CUSTOMER_MS: integer({ min: 1_000, max: MAX_CUSTOMER_MS }).default(3_600_000),
  PAYMENT_LOOK_MS: integer({ min: 50, max: 60_000 }).default(1_000),
  PAYMENT_ANSWER_MS: integer({ min: 100, max: 60_000 }).default(1_800),
  PROVIDER_CALLBACK_KEEP_DAYS: integer({ min: 1, max: 3_650 }).default(90),
  SCRATCH_DIR: path().optional(),
  AUDIT_HEAD_FILE: path().optional(),
  ...ARCHIVE_SETTINGS,
  STOP_DEADLINE_MS: integer({ min: 1_000, max: 3_600_000 }).default(65_000),
  STOP_LISTENER_AFTER_MS: integer({ max: 600_000 }).default(5_000),
  ...METRICS_SETTINGS,
  ...TRACING_SETTINGS,
  LOG_LEVEL: oneOf(LOG_LEVELS).default('info'),
};

export type GatewaySettings = Settings<typeof SETTINGS>;

/** Comma-separated `host` or `host:port`. */
function parseHosts(text: string): readonly string[] {
  const hosts = text.split(',').map((host) => host.trim());
  if (hosts.every((host) => /^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/.test(host))) return hosts;
  throw new Error('a list of hosts such as gateway.example.uz,10.0.0.5:8080');
}

/** @throws SettingsError naming every bad setting */
export function loadSettings(): GatewaySettings {
  const settings = readSettings(SETTINGS, process.env);
  checkArchiveSettings(settings);
  return settings;
}

/** What was a setting of this program once: who gives it here alone has the default there. */
const MOVED = { WEBHOOK_KEEP_DAYS: 'the relays' };

export function warnOfMovedSettings(logger: Logger, env: NodeJS.ProcessEnv = process.env): void {
  for (const [setting, owner] of Object.entries(MOVED))
    if (env[setting]?.trim())
      logger.warn({ setting }, `a setting that is not read here any more: give it to ${owner} (CHANGELOG.md)`);
}
