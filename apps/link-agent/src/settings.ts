import { resolve } from 'node:path';
import {
  boolean,
  LOG_LEVELS,
  METRICS_SETTINGS,
  oneOf,
  path,
  port,
  readSettings,
  text,
  url,
  type Environment,
  type Settings,
} from '#runtime';

/** Every setting of this program; .env.example says what each is for. */
export const AGENT_SETTINGS = {
  LINK_URL: url(['wss', 'ws']),
  LINK_ENROLMENT_CODE: text().optional(),
  LINK_ALLOW_INSECURE: boolean().default(false),
  /** The one register that the link leads to. */
  REGISTER_URL: url(['http', 'https']).default('http://127.0.0.1:8765'),
  DATA_DIR: path().default(resolve('.data/agent')),
  AGENT_PORT: port().default(8766),
  ...METRICS_SETTINGS,
  LOG_LEVEL: oneOf(LOG_LEVELS).default('info'),
};

export type AgentSettings = Settings<typeof AGENT_SETTINGS>;

/** @throws SettingsError naming every bad setting */
export function readAgentSettings(env: Environment = process.env): AgentSettings {
  return readSettings(AGENT_SETTINGS, env);
}
