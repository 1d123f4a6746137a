import type { Journal } from './journal.js';

/** How much text one step of the export holds. */
const PIECE_CHARACTERS = 64 * 1024;

/**
 * The journal as JSON lines, oldest first: `{seq, time_ms, fiscal_sign, digest, document}`. `document` is in canonical
 * form and names the digest of the document before it, so the holder of the export can verify the whole chain.
 *
 * Read number by number up to the newest of now: a slow reader holds no statement open, and sales go on between two
 * pieces.
 * @returns pieces of whole lines
 */
export function* exportJournal(journal: Journal): Generator<string> {
  const [newest] = journal.newest(1);
  let piece = '';
  for (let seq = 1; seq <= (newest?.seq ?? 0); seq += 1) {
    const entry = journal.findBySeq(seq);
    if (!entry) continue;
    const { timeMs, sign, digest, payload } = entry;
    const head = JSON.stringify({ seq, time_ms: timeMs, fiscal_sign: sign, digest });
    piece += `${head.slice(0, -1)},"document":${payload}}\n`;
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}
