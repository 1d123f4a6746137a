import type { ReceiptStatus } from '#fiscal-domain';
import { canMove, RECEIPT_MOVES } from '../moves.js';

/** What a receipt may be found in when a move comes to it. */
export const SITUATIONS = {
  awaiting_payment: 'awaiting_payment',
  /** Its provider registers it: it has no device. */
  awaiting_provider: 'awaiting_payment',
  accepted: 'accepted',
  /** A person had it sent again: an earlier attempt may be registered. */
  accepted_again: 'accepted',
  /** With its open attempt. */
  sending: 'sending',
  registered: 'registered',
  rejected: 'rejected',
  /** With its parked attempt. */
  unknown: 'unknown',
  cancelled: 'cancelled',
} as const satisfies Record<string, ReceiptStatus>;
export type Situation = keyof typeof SITUATIONS;

/** Every verb that moves a receipt, and where it leads; out of all other situations it changes nothing. */
export const VERBS = {
  release: { awaiting_payment: 'accepted' },
  registerByProvider: { awaiting_provider: 'registered' },
  cancelReceipt: { accepted: 'cancelled' },
  cancelUnpaid: { awaiting_payment: 'cancelled', awaiting_provider: 'cancelled', accepted: 'cancelled' },
  openAttempt: { accepted: 'sending', accepted_again: 'sending' },
  rejectUnsent: { accepted: 'rejected' },
  closeRegistered: { sending: 'registered' },
  /** With the intent of another receipt. */
  closeAndOpen: { sending: 'registered' },
  closeRejected: { sending: 'rejected' },
  closeNotRegistered: { sending: 'accepted' },
  closeUnknown: { sending: 'unknown' },
  recordLateAnswer: { accepted: 'registered', accepted_again: 'registered', unknown: 'registered' },
  parkAttempt: { sending: 'unknown' },
  parkAttemptsOfTerminal: { sending: 'unknown' },
  holdCopied: { accepted: 'unknown', accepted_again: 'unknown', sending: 'unknown' },
  holdBackUnproven: { accepted_again: 'unknown' },
  sendAgain: { unknown: 'accepted' },
  rejectUnregistered: { unknown: 'rejected', accepted_again: 'rejected' },
  registerByOperator: { unknown: 'registered' },
  releaseCompared: { unknown: 'accepted' },
} as const satisfies Record<string, Partial<Record<Situation, ReceiptStatus>>>;
export type Verb = keyof typeof VERBS;

export interface Subject {
  receiptId: string;
  /** Its last attempt; where it has none, an id that nothing has. */
  attemptId: string;
}

/** A ledger with rows to move. */
export interface LedgerRig {
  begin(): Promise<void>;
  end(): Promise<void>;
  /** @param journalId of the register that its attempt went to; without it one without keys */
  createIn(situation: Situation, journalId?: string): Promise<Subject>;
  apply(verb: Verb, subject: Subject): Promise<void>;
  statusOf(receiptId: string): Promise<ReceiptStatus>;
  /** Whether the lane waits out what may be asleep on its way before its next send. */
  mustSettle(): Promise<boolean>;
  /** Of this receipt since it is there; null: events are not kept. */
  eventsOf(receiptId: string): Promise<string[] | null>;
}

/** What every ledger does, whether PostgreSQL or the simulation's. */
export function ledgerContract(rig: LedgerRig): void {
  beforeEach(() => rig.begin());
  afterEach(() => rig.end());

  const situations = Object.keys(SITUATIONS) as Situation[];
  describe.each(Object.keys(VERBS) as Verb[])('%s', (verb) => {
    const leads: Partial<Record<Situation, ReceiptStatus>> = VERBS[verb];

    test.each(situations)('of a receipt that is %s', async (situation) => {
      const from = SITUATIONS[situation];
      const to = leads[situation] ?? from;
      const subject = await rig.createIn(situation);
      await rig.apply(verb, subject);
      expect(await rig.statusOf(subject.receiptId)).toBe(to);
      if (to !== from) expect(canMove(from, to)).toBe(true);
      const events = await rig.eventsOf(subject.receiptId);
      if (events === null) return;
      const announced = RECEIPT_MOVES.find((move) => move.from === from && move.to === to)?.event ?? null;
      // A late answer about what is registered or sent elsewhere is announced, and moves nothing.
      const isSuspect = verb === 'recordLateAnswer' && to === from;
      expect(events).toEqual(
        isSuspect ? ['receipt.duplicate_suspected'] : announced === null ? [] : [`receipt.${announced}`],
      );
    });
  });

  test.each([
    ['without keys: its lane settles before the next send', undefined, true],
    ['with keys: nothing is to be waited out', 'journal-1', false],
  ])('holdCopied of what is being sent to a register %s', async (_what, journalId, mustSettle) => {
    await rig.apply('holdCopied', await rig.createIn('sending', journalId));
    expect(await rig.mustSettle()).toBe(mustSettle);
  });

  test('every legal move is made by a verb, but the one that is reserved for a person', () => {
    const made = Object.values(VERBS).flatMap((leads) =>
      Object.entries(leads).map(([situation, to]) => `${SITUATIONS[situation as Situation]} → ${to}`),
    );
    const legal = RECEIPT_MOVES.map(({ from, to }) => `${from} → ${to}`);
    expect(new Set([...made, 'unknown → rejected'])).toEqual(new Set(legal));
  });
}
