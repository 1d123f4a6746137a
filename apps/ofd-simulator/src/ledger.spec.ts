// Breaks if the OFD simulator would accept a changed, replaced or wrongly chained document: our proof of the chain.
import { canonicalJson, sha256 } from '#runtime';
import { Ledger } from './ledger.js';

const TERMINAL = 'ZZ000000000001';
const ZERO = '0'.repeat(64);

function entry(seq: number, previous: string, changes: object = {}): Record<string, unknown> & { digest: string } {
  const covered = { terminal_id: TERMINAL, seq, prev_digest: previous, type: 'sale', cash: 100, ...changes };
  return { ...covered, digest: sha256(canonicalJson(covered)).toString('hex'), fiscal_sign: '1'.repeat(12) };
}

const first = entry(1, ZERO);
const second = entry(2, first.digest);
const third = entry(3, second.digest);

describe('the OFD simulator', () => {
  test('takes a chain, counts repeats and lists in order of arrival', () => {
    const ledger = new Ledger();
    for (const one of [first, second, second, third]) expect(ledger.take(one, TERMINAL).status).toBe('accepted');
    const page = ledger.list({ cursor: 0, limit: 2, terminalId: undefined });
    expect(page.data.map(({ seq, deliveries }) => [seq, deliveries])).toEqual([
      [1, 1],
      [2, 2],
    ]);
    expect(page.next_cursor).toBe('2');
    expect(ledger.list({ cursor: 2, limit: 2, terminalId: TERMINAL })).toMatchObject({
      data: [{ seq: 3 }],
      next_cursor: null,
    });
  });

  test('asking for a terminal does not make it known', () => {
    const ledger = new Ledger();
    expect(ledger.list({ cursor: 0, limit: 2, terminalId: TERMINAL })).toEqual({ data: [], next_cursor: null });
    expect(ledger.checks()).toEqual([]);
  });

  test('shows a gap until it is filled', () => {
    const ledger = new Ledger();
    ledger.take(third, TERMINAL);
    expect(ledger.checks()).toEqual([{ terminal_id: TERMINAL, held: 1, last_seq: 3, gaps: [{ from: 1, to: 2 }] }]);
    ledger.take(first, TERMINAL);
    ledger.take(second, TERMINAL);
    expect(ledger.checks()).toMatchObject([{ gaps: [] }]);
  });

  test.each([
    ['a changed document', { ...second, cash: 1 }, 'digest_mismatch'],
    ['a changed document under the digest of a known one', { ...first, cash: 1 }, 'digest_mismatch'],
    ['another predecessor', entry(2, ZERO), 'chain_broken'],
    ['a document that its successor does not name', entry(2, first.digest, { cash: 7 }), 'chain_broken'],
    ['another first document', entry(1, ZERO, { cash: 7 }), 'conflict'],
    ['a first document with a predecessor', entry(1, first.digest), 'conflict'],
    ['another terminal', { ...second, terminal_id: 'ZZ000000000002' }, 'malformed'],
    ['no object', null, 'malformed'],
  ])('refuses %s', (_what, value, code) => {
    const ledger = new Ledger();
    ledger.take(first, TERMINAL);
    ledger.take(third, TERMINAL);
    expect(ledger.take(value, TERMINAL)).toMatchObject({ status: 'rejected', code });
  });
});
