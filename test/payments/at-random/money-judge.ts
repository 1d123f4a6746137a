import type { PaymentState } from '#payments';
import { PRICE, type PaymentsFixture, type SimulatedPayment } from '../payments-fixture.js';

/** Of one piece each. */
export const PIECES = 4;
const WHOLE = PIECES * PRICE;
const WITHOUT_MONEY: PaymentState[] = ['declined', 'cancelled', 'expired', 'voided'];

/** A payment as the database has it. */
export interface KnownPayment {
  id: string;
  state: PaymentState;
  refunded: number;
  receipt: string;
  receiptId: string;
  /** Nothing is due of it. */
  isAtRest: boolean;
  /** A sum is being given back. */
  isRefunding: boolean;
  /** What its registered refund receipts make. */
  soldBack: number;
}

/** Knows what really happened to the money, at the providers, whatever the database was put back to. */
export class MoneyJudge {
  readonly broken: string[] = [];
  /** Payments of copies that were put back which had gone on at their providers. */
  atStake = 0;
  private readonly unfindable = new Set<string>();
  private readonly onPages = new Set<string>();
  private readonly ofCopy = new Set<string>();
  /** Refunds or cancellations of these were accepted after the newest copy. */
  private readonly sinceCopy = new Set<string>();
  /** Such a one was lost with the database: the money may be back, which a comparison with the provider shows. */
  private readonly lost = new Set<string>();
  private readonly trail: string[] = [];

  constructor(private readonly fixture: PaymentsFixture) {}

  note(line: string): void {
    this.trail.push(line);
  }

  paid(id: string, { isFound, isPage }: { isFound: boolean; isPage: boolean }): void {
    if (!isFound) this.unfindable.add(id);
    if (isPage) this.onPages.add(id);
  }

  async putBack(known: readonly KnownPayment[]): Promise<void> {
    for (const id of this.sinceCopy) this.lost.add(id);
    for (const { id, state, refunded } of known) {
      this.ofCopy.add(id);
      const made = await this.fixture.simulated(id);
      const isAhead = made.some((one) => one.refunded > refunded || (state === 'created' && one.status !== 'pending'));
      if (isAhead) this.atStake += 1;
    }
  }

  copied(): void {
    this.note('copy');
    this.sinceCopy.clear();
  }

  /** A refund or a cancellation was accepted. */
  asked(id: string): void {
    this.sinceCopy.add(id);
  }

  /** What a person sees in the provider's cabinet; null: it is still under way there. */
  async truthOf(id: string, refunded: number): Promise<string | null> {
    const made = await this.fixture.simulated(id);
    const taken = takenOf(made);
    if (taken?.status === 'captured') return taken.refunded > refunded ? 'part_refunded' : 'captured';
    if (taken) return 'refunded';
    if (made.some(({ status }) => status === 'held' || status === 'reserved')) return null;
    return made.some(({ status }) => status === 'voided') ? 'voided' : 'declined';
  }

  async judge(known: readonly KnownPayment[], all: readonly string[]): Promise<void> {
    for (const id of all) {
      // Who pays on the page of a lost time and on the one that was made anew has paid twice, and has one of them given back.
      const made = (await this.fixture.simulated(id)).filter(
        ({ status }) => !this.onPages.has(id) || status === 'captured',
      );
      const charges = made.reduce((sum, { captures }) => sum + captures, 0);
      if (charges > 1) this.breaks(`${id} was charged ${charges} times`, id);
    }
    for (const payment of known) await this.compare(payment);
  }

  breaks(what: string, id: string): void {
    this.broken.push(what);
    if (this.broken.length > 1) return;
    const isOfAll = (line: string): boolean => !line.includes('pay_');
    this.broken.push(...this.trail.filter((line) => line.includes(id) || isOfAll(line)).slice(-120));
  }

  private async compare(payment: KnownPayment): Promise<void> {
    const { id, state, refunded, receipt, soldBack } = payment;
    const made = await this.fixture.simulated(id);
    const taken = takenOf(made);
    if (this.lost.has(id)) return;
    // What a copy knows as not begun, and no question to its provider finds, ends without money: the only thing that cannot be helped.
    if (this.ofCopy.has(id) && this.unfindable.has(id) && WITHOUT_MONEY.includes(state)) return;
    const kept = taken === undefined ? 0 : taken.captures - (taken.status === 'captured' ? 0 : 1);
    const wanted = state === 'captured';
    if (wanted !== (kept === 1)) return this.breaks(`${id} is ${state}, at its provider ${shown(made)}`, id);
    if (taken && (wanted || state === 'refunded') && taken.refunded !== refunded)
      this.breaks(`${id} has ${refunded} given back, its provider ${shown(made)}`, id);
    if (wanted && receipt !== 'registered') this.breaks(`${id} is ${state}, its receipt ${receipt}`, id);
    if (receipt === 'registered' && soldBack !== (wanted ? refunded : WHOLE))
      this.breaks(`${id} is ${state} with ${refunded} back, and ${soldBack} of its receipt is refunded`, id);
    if (receipt === 'cancelled' && this.fixture.sequences.has(payment.receiptId))
      this.breaks(`${id}: its receipt is cancelled, and the register has it`, id);
  }
}

/** The charge that stands, or for want of one the one that was given back. */
function takenOf(made: readonly SimulatedPayment[]): SimulatedPayment | undefined {
  return made.find(({ status }) => status === 'captured') ?? made.find(({ captures }) => captures > 0);
}

function shown(made: readonly SimulatedPayment[]): string {
  return JSON.stringify(
    made.map(({ status, captures, refunds, refunded }) => ({ status, captures, refunds, refunded })),
  );
}
