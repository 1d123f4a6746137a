import path from 'node:path';

import { baseUrlOf, PROGRAMS } from './programs.mjs';

/** @typedef {{ databaseUrl: string, migrateDatabaseUrl: string | undefined }} Databases */

/**
 * What all programs of one installation share. Anything set in the environment wins.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} dataDir
 * @param {import('./secrets.mjs').Secrets} secrets
 * @returns {NodeJS.ProcessEnv}
 */
export function sharedEnvironment(env, dataDir, secrets) {
  return {
    NODE_ENV: 'production',
    SECRETS_KEY: secrets.secrets_key,
    PUBLIC_URL: baseUrlOf(PROGRAMS.gateway, env),
    LINK_PUBLIC_URL: `${baseUrlOf(PROGRAMS.relay, env).replace(/^http/, 'ws')}/link`,
    RELAY_URL: baseUrlOf(PROGRAMS.relay, env),
    OFD_URLS: baseUrlOf(PROGRAMS.ofd, env),
    OFD_CHECK_URL: `${baseUrlOf(PROGRAMS.ofd, env)}/check`,
    // Everything of the demo lives on this machine; in production loopback stays refused.
    DEVICE_ALLOWED_CIDRS: '127.0.0.0/8',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    MESSAGE_ALLOWED_CIDRS: '127.0.0.0/8',
    PROVIDER_ALLOWED_CIDRS: '127.0.0.0/8',
    PROVIDER_HOSTS: '127.0.0.1:*',
    PAYMENTS_SIM_ACCOUNTS: path.join(dataDir, 'payments-sim', 'accounts.json'),
    FM_MIN_INTERVAL_MS: '0',
    // As a real module: the demo refuses what one would refuse.
    FM_PAYMENT_TOLERANCE_TIYIN: '10000',
    // Ctrl-C shall not take a minute; what a relay leaves open the next start resolves.
    STOP_DEADLINE_MS: '4000',
    STOP_LISTENER_AFTER_MS: '0',
    ...withoutEmpty(env),
    DATA_DIR: dataDir,
  };
}

/**
 * @param {import('./programs.mjs').Program} program
 * @param {NodeJS.ProcessEnv} shared
 * @param {{ databases: Databases | null, secrets: import('./secrets.mjs').Secrets }} own
 * @returns {NodeJS.ProcessEnv}
 */
export function programEnvironment(program, shared, { databases, secrets }) {
  const dataDir = shared['DATA_DIR'] ?? '';
  const own = { ...shared, DATA_DIR: path.join(dataDir, program.name) };
  if (!program.needsDatabase) return { REGISTER_API_KEY: secrets.register_api_key, ...own };
  return databases === null ? own : { ...own, DATABASE_URL: databases.databaseUrl };
}

/**
 * A variable that is set to nothing (`QUEUE_URL=`) means the same as one that is not set.
 * @param {NodeJS.ProcessEnv} env
 */
function withoutEmpty(env) {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
}
