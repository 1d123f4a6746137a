import { useTestServer } from './shared-test-server.mjs';

/** Before the integration and system tests: a PostgreSQL with a migrated template. */
export default async function setUp() {
  await useTestServer();
}
