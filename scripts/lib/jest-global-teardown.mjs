import { releaseTestServer } from './shared-test-server.mjs';

/** Stops the PostgreSQL that the setup started, if it did. */
export default async function tearDown() {
  await releaseTestServer();
}
