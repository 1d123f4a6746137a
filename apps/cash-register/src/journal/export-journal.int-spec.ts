// Breaks if an exported journal could not be verified by its holder.
import { canonicalJson, sha256 } from '#runtime';
import { withRegister } from '../testing/register-fixture.js';
import { sale } from '../testing/samples.js';
import { exportJournal } from './export-journal.js';

test('every line of the export carries a document that fits its digest and the line before', () =>
  withRegister({}, async (test) => {
    const signs: unknown[] = [];
    for (const type of ['sale', 'advance', 'sale'] as const) {
      signs.push((await test.sell(sale({ type }))).body.receipt.fiscalSign ?? null);
    }
    const text = [...exportJournal(test.register.journal)].join('');
    const lines = text.split(/(?<=\n)/).map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ seq, fiscal_sign: sign }) => [seq, sign])).toEqual(
      signs.map((sign, index) => [index + 1, sign]),
    );
    let previous = '0'.repeat(64);
    for (const { digest, document } of lines) {
      expect((document as { prev_digest: string }).prev_digest).toBe(previous);
      expect(sha256(canonicalJson(document)).toString('hex')).toBe(digest);
      previous = String(digest);
    }
  }));
