// @ts-check
/**
 * Reads a file of products in a thread with a heap of its own: whatever is in the file, it costs this thread at most. Plain
 * JavaScript, because a thread starts from a file that Node.js itself can read; what it does is in read-products.ts.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { batchesOf, openProducts } from './read-products.js';
import { UnreadableFile } from '../../sheets/sheet-row.js';

/** @typedef {import('./products-file.js').ReadingJob} ReadingJob */
/** @typedef {import('./products-file.js').ReadingMessage} ReadingMessage */

const port = parentPort;
if (!port) throw new Error('reading-thread is a thread, not a program');
const job = /** @type {ReadingJob} */ (workerData);

/** @param {ReadingMessage} message */
const say = (message) => port.postMessage(message);

/** Resolves when the next batch is wanted: one is on its way at a time. */
const asked = () => new Promise((resolve) => port.once('message', resolve));

try {
  const opened = await openProducts(job);
  say({ kind: 'columns', columns: opened.columns });
  await asked();
  for await (const rows of batchesOf(opened.rows)) {
    say({ kind: 'rows', rows, share: opened.share() });
    await asked();
  }
  say({ kind: 'end' });
} catch (error) {
  if (!(error instanceof UnreadableFile)) throw error;
  say({ kind: 'unreadable', reason: error.message });
}
