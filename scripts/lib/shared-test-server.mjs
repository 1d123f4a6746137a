import { prepareTemplate, startTestServer } from './test-server.mjs';

/** @type {import('./test-server.mjs').TestServer | undefined} */
let own;

/**
 * Puts a server with a migrated template at the disposal of this process and its children, unless `npm test` has already
 * done so. A developer with a server of their own names it in TEST_DATABASE_ADMIN_URL (a superuser's URL).
 */
export async function useTestServer() {
  if (process.env['TEST_DATABASE_READY'] === 'yes') return;
  let adminUrl = process.env['TEST_DATABASE_ADMIN_URL'];
  if (!adminUrl) {
    own = await startTestServer();
    adminUrl = own.adminUrl;
    process.env['TEST_DATABASE_ADMIN_URL'] = adminUrl;
  }
  await prepareTemplate(adminUrl);
  process.env['TEST_DATABASE_READY'] = 'yes';
}

/** Removes our server; a foreign one stays. */
export async function releaseTestServer() {
  if (own === undefined) return;
  await own.stop();
  own = undefined;
  delete process.env['TEST_DATABASE_ADMIN_URL'];
  delete process.env['TEST_DATABASE_READY'];
}
