import { canonicalJson, sha256 } from '#runtime';

/** A delivered document or Z-report as the simulator lists it: what was delivered, and how often. */
export interface HeldEntry {
  readonly terminal_id: string;
  readonly seq: number;
  readonly prev_digest: string;
  readonly digest: string;
  readonly [field: string]: unknown;
  deliveries: number;
}

export type LedgerResult =
  | { readonly seq: number; readonly status: 'accepted' }
  | { readonly seq: number; readonly status: 'rejected'; readonly code: RejectCode; readonly message: string };

export type RejectCode = 'malformed' | 'digest_mismatch' | 'chain_broken' | 'conflict' | 'refused';

/** What is known of one terminal's sequence. */
export interface TerminalCheck {
  readonly terminal_id: string;
  readonly held: number;
  readonly last_seq: number;
  /** Missing numbers as closed ranges. */
  readonly gaps: readonly { readonly from: number; readonly to: number }[];
}

const NO_DIGEST = '0'.repeat(64);

/**
 * What an OFD holds of one kind. It takes documents in any order (a resend fills gaps later), is idempotent by terminal
 * and sequence, and refuses what does not fit the digest chain. It cannot check the keyed fiscal sign.
 */
export class Ledger {
  private readonly inOrder: HeldEntry[] = [];
  private readonly byTerminal = new Map<string, Map<number, HeldEntry>>();

  take(value: unknown, terminalId: string): LedgerResult {
    const entry = readEntry(value, terminalId);
    if (!entry) {
      const seq = (value as { seq?: unknown } | null)?.seq;
      return rejected(
        typeof seq === 'number' ? seq : 0,
        'malformed',
        'terminal_id, seq, digest or prev_digest is missing',
      );
    }
    const known = this.find(terminalId, entry.seq);
    if (known) {
      if (known.digest !== entry.digest) return rejected(entry.seq, 'conflict', 'another document has this number');
      if (digestOf(entry) !== entry.digest) return rejected(entry.seq, 'digest_mismatch', 'the digest does not match');
      known.deliveries += 1;
      return { seq: entry.seq, status: 'accepted' };
    }
    if (digestOf(entry) !== entry.digest) return rejected(entry.seq, 'digest_mismatch', 'the digest does not match');
    const held = this.terminal(terminalId);
    const broken = chainFault(entry, held);
    if (broken !== null) return rejected(entry.seq, 'chain_broken', broken);
    held.set(entry.seq, entry);
    this.inOrder.push(entry);
    return { seq: entry.seq, status: 'accepted' };
  }

  /** Entries in order of arrival. `cursor`: how many to pass over. */
  list({ cursor, limit, terminalId }: { cursor: number; limit: number; terminalId: string | undefined }): {
    data: HeldEntry[];
    next_cursor: string | null;
  } {
    const all = terminalId === undefined ? this.inOrder : [...(this.byTerminal.get(terminalId)?.values() ?? [])];
    const data = all.slice(cursor, cursor + limit);
    const end = cursor + data.length;
    return { data, next_cursor: end < all.length ? String(end) : null };
  }

  find(terminalId: string, seq: number): HeldEntry | null {
    return this.byTerminal.get(terminalId)?.get(seq) ?? null;
  }

  checks(): TerminalCheck[] {
    return [...this.byTerminal].map(([terminalId, held]) => {
      const seqs = [...held.keys()].sort((left, right) => left - right);
      const gaps: { from: number; to: number }[] = [];
      let expected = 1;
      for (const seq of seqs) {
        if (seq > expected) gaps.push({ from: expected, to: seq - 1 });
        expected = seq + 1;
      }
      return { terminal_id: terminalId, held: held.size, last_seq: seqs.at(-1) ?? 0, gaps };
    });
  }

  private terminal(terminalId: string): Map<number, HeldEntry> {
    let held = this.byTerminal.get(terminalId);
    if (!held) {
      held = new Map();
      this.byTerminal.set(terminalId, held);
    }
    return held;
  }
}

function readEntry(value: unknown, terminalId: string): HeldEntry | null {
  const entry = value as Partial<HeldEntry> | null;
  if (typeof entry !== 'object' || entry === null || entry.terminal_id !== terminalId) return null;
  if (!Number.isSafeInteger(entry.seq) || (entry.seq ?? 0) < 1) return null;
  if (typeof entry.digest !== 'string' || typeof entry.prev_digest !== 'string') return null;
  return { ...(entry as HeldEntry), deliveries: 1 };
}

/** The digest covers everything that was delivered but itself and the sign over it. */
function digestOf(entry: HeldEntry): string {
  const { digest: _digest, fiscal_sign: _sign, deliveries: _deliveries, ...covered } = entry;
  return sha256(canonicalJson(covered)).toString('hex');
}

/** Compares with both neighbours, as far as they are held. */
function chainFault(entry: HeldEntry, held: ReadonlyMap<number, HeldEntry>): string | null {
  const before = entry.seq === 1 ? NO_DIGEST : held.get(entry.seq - 1)?.digest;
  if (before !== undefined && before !== entry.prev_digest) return 'the document before it has another digest';
  const after = held.get(entry.seq + 1);
  return after && after.prev_digest !== entry.digest ? 'the document after it names another digest' : null;
}

function rejected(seq: number, code: RejectCode, message: string): LedgerResult {
  return { seq, status: 'rejected', code, message };
}
