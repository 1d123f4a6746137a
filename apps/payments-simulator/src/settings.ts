import { LOG_LEVELS, METRICS_SETTINGS, oneOf, path, port, readSettings, text, type Settings } from '#runtime';

export const PAYMENTS_SIM_SETTINGS = {
  PAYMENTS_SIM_PORT: port().default(8757),
  PAYMENTS_SIM_HOST: text().default('127.0.0.1'),
  /** Accounts of the demo: {payme, click} (accounts.ts); read when a page needs them. */
  PAYMENTS_SIM_ACCOUNTS: path().optional(),
  ...METRICS_SETTINGS,
  LOG_LEVEL: oneOf(LOG_LEVELS).default('info'),
};

export type PaymentsSimSettings = Settings<typeof PAYMENTS_SIM_SETTINGS>;

/** @throws SettingsError naming every bad setting */
export function loadPaymentsSimSettings(): PaymentsSimSettings {
  return readSettings(PAYMENTS_SIM_SETTINGS, process.env);
}
