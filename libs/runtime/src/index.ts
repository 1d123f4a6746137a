export { CidrSet, parseCidr, type Cidr, type CidrParse, type IpFamily } from './cidr.js';
export { systemClock, type Clock } from './clock.js';
export { newId } from './ids.js';
export { createLogger, LOG_LEVELS, NestLogger, type Logger, type LogLevel } from './logger.js';
export { redact, scrubText } from './redaction.js';
export {
  boolean,
  bytesKey,
  cidrList,
  Field,
  integer,
  oneOf,
  parsed,
  path,
  port,
  readSettings,
  SettingsError,
  text,
  url,
  urlList,
  type Environment,
  type Settings,
  type SettingsTable,
} from './settings.js';
