import { setTimeout as delay } from 'node:timers/promises';

/** @typedef {import('pg').Client} Client */

/**
 * A statement that waits for a table lock holds up all that come after it, and the gateway waits 400 ms: rather give way, and try
 * again when the long reader is gone.
 */
const LOCK_TIMEOUT_MS = 100;
const LOCK_PAUSE_MS = 250;
const LOCK_TRIES = 400;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * One transaction that never waits long for a lock: it is taken back and tried again until it gets all of them, for more than two minutes.
 * @param {Client} client
 * @param {() => Promise<void>} work
 * @throws AggregateError when it could not be taken back: its connection is lost, perhaps with the answer to its commit
 */
export async function withShortLocks(client, work) {
  for (let tries = 1; ; tries += 1) {
    // What is found with a table shut must be what is there.
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    try {
      await client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
      await work();
      await client.query('COMMIT');
      return;
    } catch (error) {
      await rollBack(client, error);
      if (Object(error).code !== LOCK_NOT_AVAILABLE || tries === LOCK_TRIES) throw error;
    }
    await delay(LOCK_PAUSE_MS);
  }
}

/**
 * @param {Client} client
 * @param {unknown} error
 */
async function rollBack(client, error) {
  try {
    await client.query('ROLLBACK');
  } catch (second) {
    throw new AggregateError([error, second], String(error), { cause: second });
  }
}
