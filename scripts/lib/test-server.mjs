import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';

import {
  destroyEmbeddedPostgres,
  killEmbeddedPostgres,
  readPostgresRecord,
  startEmbeddedPostgres,
} from './embedded-postgres.mjs';
import { migrate } from './migrations.mjs';
import { ensureRoles, OWNER_ROLE, APP_ROLE } from './postgres-roles.mjs';
import { commandOf } from './processes.mjs';
import { reservePorts } from './reserved-ports.mjs';

const PREFIX = 'fiscal-test-postgres-';
/** Folders of this process, which the next run takes away where this one could not. */
export const OWN_PREFIX = `${PREFIX}${process.pid}-`;

/** The migrated database that every test database is a copy of. */
export const TEMPLATE = 'fiscal_template';

/**
 * @typedef {{
 *   adminUrl: string, migratedDatabase: () => Promise<string>, stop: () => Promise<void>,
 *   kill: (how?: 'SIGKILL' | 'SIGQUIT') => Promise<void>, restart: () => Promise<void>, clusterDir: string,
 * }} TestServer `kill` and `restart` are for tests of what happens while the database is away; `clusterDir` for those of
 *   its files: a copy taken, an older one put back
 */

/**
 * A throw-away PostgreSQL for one run of tests: a cluster, a port and passwords of its own, so that several runs on one
 * machine never meet. The port is reserved until it is stopped.
 * @param {{ durable?: boolean, parent?: string }} [options] `parent`: where its folder is made, e.g. on a disk of its own
 * @returns {Promise<TestServer>}
 */
export async function startTestServer({ durable = false, parent = os.tmpdir() } = {}) {
  await sweepAbandoned();
  const dataDir = path.join(parent, `${OWN_PREFIX}${randomBytes(3).toString('hex')}`);
  fs.mkdirSync(dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
  const { first: port, release } = await reservePorts(1);
  const { adminUrl } = await startEmbeddedPostgres({ dataDir, port, durable });
  return {
    adminUrl,
    migratedDatabase: () => prepareTemplate(adminUrl),
    stop: async () => {
      await destroyEmbeddedPostgres(dataDir);
      release();
    },
    kill: (how) => killEmbeddedPostgres(dataDir, how),
    clusterDir: readPostgresRecord(dataDir)?.cluster_dir ?? '',
    restart: async () => {
      await startEmbeddedPostgres({ dataDir, port, durable: false });
    },
  };
}

/**
 * Makes the roles and the template on a test server, whatever runs it. All roles share the superuser's password, so that
 * one URL says everything.
 * @param {string} adminUrl
 * @returns {Promise<string>} the template's URL for its owner
 */
export async function prepareTemplate(adminUrl) {
  const password = decodeURIComponent(new URL(adminUrl).password);
  await ensureRoles(adminUrl, { owner: password, app: password });
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  try {
    await admin.query(`DROP DATABASE IF EXISTS ${TEMPLATE} WITH (FORCE)`);
    await admin.query(`CREATE DATABASE ${TEMPLATE} OWNER ${OWNER_ROLE}`);
  } finally {
    await admin.end();
  }
  const migrateDatabaseUrl = urlFor(adminUrl, OWNER_ROLE);
  await migrate({ migrateDatabaseUrl, databaseUrl: urlFor(adminUrl, APP_ROLE) });
  return migrateDatabaseUrl;
}

/**
 * @param {string} adminUrl
 * @param {string} role
 */
function urlFor(adminUrl, role) {
  const url = new URL(adminUrl);
  url.username = role;
  url.pathname = `/${TEMPLATE}`;
  return url.href;
}

/** Servers whose run was killed (kill -9, a closed terminal) would stay for ever. */
async function sweepAbandoned() {
  for (const name of fs.readdirSync(os.tmpdir())) {
    const pid = name.startsWith(PREFIX) ? Number.parseInt(name.slice(PREFIX.length), 10) : NaN;
    if (Number.isInteger(pid) && commandOf(pid) === '') await destroyEmbeddedPostgres(path.join(os.tmpdir(), name));
  }
}
