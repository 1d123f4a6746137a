import { homedir } from 'node:os';
import { join } from 'node:path';

/** What the environment says. Each of the first eight wins over the profile. */
export interface Environment {
  url: string | null;
  clientId: string | null;
  clientSecret: string | null;
  keyId: string | null;
  signingKeyFile: string | null;
  keySecret: string | null;
  profile: string | null;
  configFile: string;
  /** https://no-color.org */
  refusesColour: boolean;
  forcesColour: boolean;
}

export function readEnvironment(env: NodeJS.ProcessEnv = process.env): Environment {
  const read = (name: string): string | null => env[name] || null;
  const configHome = read('XDG_CONFIG_HOME') ?? join(homedir(), '.config');
  return {
    url: read('FGW_URL'),
    clientId: read('FGW_CLIENT_ID'),
    clientSecret: read('FGW_CLIENT_SECRET'),
    keyId: read('FGW_KEY_ID'),
    signingKeyFile: read('FGW_SIGNING_KEY_FILE'),
    keySecret: read('FGW_KEY_SECRET'),
    profile: read('FGW_PROFILE'),
    configFile: read('FGW_CONFIG') ?? join(configHome, 'fgw', 'config.json'),
    refusesColour: read('NO_COLOR') !== null || read('TERM') === 'dumb',
    forcesColour: read('FORCE_COLOR') !== null,
  };
}
