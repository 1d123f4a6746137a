import { prepareTemplate, startTestServer } from './test-server.mjs';

/**
 * Before the integration and system tests: a PostgreSQL with a migrated template, unless `npm test` (or somebody with a
 * server of their own) has already said where it is.
 */
export default async function setUp() {
  if (process.env['TEST_DATABASE_READY'] === 'yes') return;
  let adminUrl = process.env['TEST_DATABASE_ADMIN_URL'];
  if (!adminUrl) {
    const server = await startTestServer();
    globalThis.testServer = server;
    adminUrl = server.adminUrl;
    process.env['TEST_DATABASE_ADMIN_URL'] = adminUrl;
  }
  await prepareTemplate(adminUrl);
  process.env['TEST_DATABASE_READY'] = 'yes';
}
