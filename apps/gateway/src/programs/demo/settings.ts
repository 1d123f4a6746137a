import { integer, origin, parsed, path, port, readSettings, type Settings, text, url } from '#runtime';
import { parseKeyring } from '#secrets';

const DEMO_SETTINGS = {
  DATABASE_URL: url(['postgres', 'postgresql']),
  DIRECT_DATABASE_URL: url(['postgres', 'postgresql']).optional(),
  SECRETS_KEY: parsed(parseKeyring),
  DATA_DIR: path(),
  GATEWAY_PORT: port().default(8080),
  REGISTER_PORT: port().default(8765),
  OFD_PORT: port().default(8756),
  PAYMENTS_SIM_PORT: port().default(8757),
  PAYMENTS_SIM_ACCOUNTS: path().optional(),
  PUBLIC_URL: origin(['http', 'https']).default('http://127.0.0.1:8080'),
  CONSOLE_URL: url(['http', 'https']).optional(),
  INVITATION_HOURS: integer({ min: 1, max: 720 }).default(72),
  REGISTER_API_KEY: text(),
  CLASSIFIER_SAMPLE: path().default('data/classifier-sample.jsonl'),
};

export type DemoSettings = Settings<typeof DEMO_SETTINGS>;

/** @throws SettingsError naming every bad setting */
export function loadDemoSettings(): DemoSettings {
  return readSettings(DEMO_SETTINGS, process.env);
}
