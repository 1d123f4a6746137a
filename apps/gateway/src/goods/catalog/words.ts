import { hash } from 'node:crypto';
import { nameKey } from '#fiscal-domain';

/** Longer words are cut: no query needs more of one. */
const MAX_WORD_LENGTH = 48;
const MAX_WORDS = 64;

/** The distinct words of the texts as search compares them: folded like names, without apostrophes and punctuation. */
export function wordsOf(texts: readonly string[]): string[] {
  const words = new Set<string>();
  for (const text of texts) {
    for (const word of nameKey(text)
      .replaceAll("'", '')
      .split(/[^\p{L}\p{N}]+/u)) {
      if (word !== '' && words.size < MAX_WORDS) words.add(word.slice(0, MAX_WORD_LENGTH));
    }
  }
  return [...words];
}

/** Scope of the classification register's words; products' words have their merchant's id. */
export const CLASSIFIER_SCOPE = 'classifier';

/**
 * What the index keeps of a word: 64 bits of a hash over scope and word. One index serves all merchants, and a merchant
 * with few products does not read every merchant's milk. Two words that share a key (one in 10^19) show one hit too many.
 */
export function wordKey(scope: string, word: string): bigint {
  return hash('sha1', `${scope}\n${word}`, 'buffer').readBigInt64BE(0);
}
