import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** A migrated database of its own for one test file, a copy of the template that the test run prepared. */
export interface TestDatabase {
  /** As the programs see it: the role `fiscal_app`, which owns nothing. */
  readonly url: string;
  /** As the owner who migrates, for what a test must do behind the programs' back (triggers, grants). */
  readonly ownerUrl: string;
  /** As the superuser, for faults (pg_terminate_backend). */
  readonly adminUrl: string;
  /** Throws the database away, also while connections are open. */
  drop(): Promise<void>;
}

const TEMPLATE = 'fiscal_template';

/**
 * About 50 ms. Where the server is: the test run says so in TEST_DATABASE_ADMIN_URL (jest's global setup starts one when
 * none did).
 * @param adminUrl another server with the template
 */
export function createTestDatabase(adminUrl = readAdminUrl()): Promise<TestDatabase> {
  return createDatabase(adminUrl, TEMPLATE);
}

/** A session of the superuser, for rows and plans; the test ends it. */
export async function superuserOf({ adminUrl }: Pick<TestDatabase, 'adminUrl'>): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  return client;
}

/** Without a table, for tests of other migrations than today's. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase(readAdminUrl(), 'template1');
}

async function createDatabase(adminUrl: string, template: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  // Through the log, which is the usual way, a copy of the template takes eight times the processor time.
  await onServer(adminUrl, `CREATE DATABASE ${name} TEMPLATE ${template} OWNER fiscal_owner STRATEGY file_copy`);
  const urlFor = (role: string | null): string => {
    const url = new URL(adminUrl);
    if (role !== null) url.username = role;
    url.pathname = `/${name}`;
    // The shared server always answers, however late on a busy machine; one that a test stops or kills does not.
    if (adminUrl === process.env['TEST_DATABASE_ADMIN_URL']) url.searchParams.set('connect_timeout', '60');
    return url.href;
  };
  return {
    url: urlFor('fiscal_app'),
    ownerUrl: urlFor('fiscal_owner'),
    adminUrl: urlFor(null),
    drop: () => onServer(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

function readAdminUrl(): string {
  const url = process.env['TEST_DATABASE_ADMIN_URL'];
  if (url === undefined)
    throw new Error('TEST_DATABASE_ADMIN_URL is not set: jest runs this file without its project.');
  return url;
}

async function onServer(adminUrl: string, statement: string): Promise<void> {
  const client = await superuserOf({ adminUrl });
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
