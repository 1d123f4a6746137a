import { cidrList, LOG_LEVELS, oneOf, parsed, parseKeyring, port, readSettings, url, type Settings } from '#runtime';

/** Every setting of this program; .env.example says what each is for. */
export const SETTINGS = {
  DATABASE_URL: url(['postgres', 'postgresql']),
  QUEUE_URL: url(['redis', 'rediss']).optional(),
  SECRETS_KEY: parsed(parseKeyring),
  RELAY_PORT: port().default(8081),
  RELAY_URL: url(['http', 'https']).optional(),
  LINK_PUBLIC_URL: url(['wss', 'ws']).default('ws://127.0.0.1:8081/link'),
  DEVICE_ALLOWED_CIDRS: cidrList().default([]),
  LOG_LEVEL: oneOf(LOG_LEVELS).default('info'),
};

export type RelaySettings = Settings<typeof SETTINGS>;

/** @throws SettingsError naming every bad setting */
export function loadSettings(): RelaySettings {
  return readSettings(SETTINGS, process.env);
}
