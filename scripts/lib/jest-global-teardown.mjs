/** Stops the PostgreSQL that the setup started, if it did. */
export default async function tearDown() {
  await globalThis.testServer?.stop();
  globalThis.testServer = undefined;
}
