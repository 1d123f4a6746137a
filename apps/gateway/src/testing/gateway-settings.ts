import { randomBytes } from 'node:crypto';
import { readSettings } from '#runtime';
import { SETTINGS, type GatewaySettings } from '../settings.js';

/** The gateway's settings as its defaults are, for a test's own database; a setting that is new needs no word here. */
export function testGatewaySettings({ url }: { url: string }, more: Partial<GatewaySettings> = {}): GatewaySettings {
  const env = {
    DATABASE_URL: url,
    SECRETS_KEY: randomBytes(32).toString('base64'),
    PUBLIC_URL: 'http://gateway.test',
    LINK_PUBLIC_URL: 'wss://links.test/link',
    LOG_LEVEL: 'error',
  };
  return { ...readSettings(SETTINGS, env), ...more };
}
