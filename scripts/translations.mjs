import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './lib/paths.mjs';
import { digestOf, translationFault, translations } from './lib/translations.mjs';
import { runProgram, UserError } from './lib/user-error.mjs';

/**
 * node scripts/translations.mjs lists the translations that are older than their originals; with pages as arguments it records in each
 * of them that it is as new as its original is now.
 */
await runProgram(() => {
  const named = process.argv.slice(2);
  const known = translations();
  const foreign = named.filter((page) => !known.some((one) => one.page === page));
  if (foreign.length > 0) throw new UserError(`No translation: ${foreign.join(', ')}`);
  for (const translation of known) {
    const now = digestOf(fs.readFileSync(path.join(ROOT, translation.original), 'utf8'));
    if (named.includes(translation.page)) record(translation.page, now);
    else if (named.length === 0)
      console.log(translationFault(translation, now) ?? `${translation.page}: ${ageOf(translation, now)}`);
  }
  return Promise.resolve();
});

/** @param {import('./lib/translations.mjs').Translation} translation @param {string} now */
function ageOf({ digest }, now) {
  return digest === now ? 'as new as its original' : 'older than its original, and says so';
}

/** @param {string} page @param {string} digest */
function record(page, digest) {
  const file = path.join(ROOT, page);
  const text = fs.readFileSync(file, 'utf8').replace(/^---\n[\s\S]*?\n---\n+/, '');
  fs.writeFileSync(file, `---\noriginal_digest: ${digest}\n---\n\n${text}`);
}
