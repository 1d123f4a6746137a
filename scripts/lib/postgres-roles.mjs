import pg from 'pg';

import { ensureTenantRole } from './row-security.mjs';

/**
 * Two roles besides the superuser: `fiscal_owner` owns the database and migrates, `fiscal_app` is what the programs use.
 * A superuser ignores every grant, an owner may grant itself anything: only a role that is neither keeps the promise that
 * the audit trail cannot be rewritten.
 */
export const OWNER_ROLE = 'fiscal_owner';
export const APP_ROLE = 'fiscal_app';
export const DATABASE = 'fiscal';

/**
 * Safe to repeat: a start that was killed between two statements is completed by the next one.
 * @param {string} adminUrl
 * @param {{ owner: string, app: string }} passwords
 */
export async function ensureRoles(adminUrl, passwords) {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await ensureRole(client, OWNER_ROLE, passwords.owner);
    await ensureRole(client, APP_ROLE, passwords.app);
    await ensureTenantRole(client, APP_ROLE);
  } finally {
    await client.end();
  }
}

/**
 * @param {string} adminUrl
 * @param {string} name
 */
export async function ensureDatabase(adminUrl, name) {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)} OWNER ${OWNER_ROLE}`);
  } finally {
    await client.end();
  }
}

/**
 * @param {pg.Client} client
 * @param {string} role
 * @param {string} password
 */
async function ensureRole(client, role, password) {
  const { rowCount } = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [role]);
  const verb = rowCount === 0 ? 'CREATE' : 'ALTER';
  await client.query(`${verb} ROLE ${role} LOGIN PASSWORD ${pg.escapeLiteral(password)}`);
}
