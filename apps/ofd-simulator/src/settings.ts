import { LOG_LEVELS, METRICS_SETTINGS, oneOf, port, readSettings, text, type Settings } from '#runtime';

export const OFD_SIMULATOR_SETTINGS = {
  OFD_PORT: port().default(8756),
  OFD_HOST: text().default('127.0.0.1'),
  ...METRICS_SETTINGS,
  LOG_LEVEL: oneOf(LOG_LEVELS).default('info'),
};

/** @throws SettingsError naming every bad setting */
export function loadOfdSimulatorSettings(): Settings<typeof OFD_SIMULATOR_SETTINGS> {
  return readSettings(OFD_SIMULATOR_SETTINGS, process.env);
}
