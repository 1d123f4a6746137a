import type { Journal } from './journal.js';

/**
 * The journal as JSON lines, oldest first: `{seq, time_ms, fiscal_sign, digest, document}`. `document` is in canonical
 * form and names the digest of the document before it, so whoever holds the export can verify the whole chain.
 */
export function* exportJournal(journal: Journal): Generator<string> {
  for (const { seq, timeMs, sign, digest, payload } of journal.entries()) {
    const head = JSON.stringify({ seq, time_ms: timeMs, fiscal_sign: sign, digest });
    yield `${head.slice(0, -1)},"document":${payload}}\n`;
  }
}
