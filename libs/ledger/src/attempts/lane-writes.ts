import { HOLDS_UP_MS, isRefusedForItsRows, StatementGroup } from '#database';
import { ForAWhile } from '#runtime';
import type { HotStatements } from '../statements.js';
import { closeAndOpen, enterTogether, type ClosedAndOpened } from './close-and-open.js';
import { closeRegistered, type Closed, type CloseRegistered } from './close.js';
import type { LaneEntry } from './given.js';
import { openAttempt, type Intent, type Opened } from './open.js';

/** Of one statement: larger groups cost no less for each, and their parts are joined row by row. */
const MAX_ENTRIES = 16;
/** What an entry may bring into a statement of others. A register may answer with megabytes. */
const MAX_CHARACTERS = 65_536;
/** A lane whose rows the database refused writes by itself for so long: they may be refused again. */
const APART_MS = 60_000;

/** What became of an entry; null: it has no such part, or nothing is known of that and nothing was changed. */
interface Written {
  closed: Closed | null;
  opened: Opened | null;
}

/**
 * Results and intents of the lanes that one relay works on. What several lanes write at the same moment is one statement and one commit
 * (docs/adr/0195-lanes-write-together.md); a lane that writes while no other one does has a statement of its own, which costs less.
 *
 * At a crash all of a group is there or nothing: for each lane as after its own statement. What the database refuses of a group is
 * written lane by lane, so that the one that caused it hears why and the others are not concerned.
 */
export class LaneWrites {
  private readonly group = new StatementGroup((entries: readonly LaneEntry[]) => this.writeGroup(entries), {
    maxRows: MAX_ENTRIES,
    lateMs: HOLDS_UP_MS,
    isApartWhenRefused: true,
  });
  /** By device. */
  private readonly apart: ForAWhile;

  constructor(
    private readonly database: HotStatements,
    private readonly relayId: string,
    private readonly observe: (secondsSinceAccepted: number) => void = () => undefined,
    monotonicMs: () => number = () => performance.now(),
  ) {
    this.apart = new ForAWhile(APART_MS, monotonicMs);
  }

  async openAttempt(next: Intent): Promise<Opened> {
    return known((await this.write(next.deviceId, { close: null, next })).opened);
  }

  async closeRegistered(close: CloseRegistered): Promise<Closed> {
    return known((await this.write(close.deviceId, { close, next: null })).closed);
  }

  async closeAndOpen(close: CloseRegistered, next: Intent): Promise<ClosedAndOpened> {
    const { closed, opened } = await this.write(close.deviceId, { close, next });
    // Only of a result alone is it known which index refused it.
    return { closed: closed === 'sequence_taken' ? null : closed, opened };
  }

  private async write(deviceId: string, entry: LaneEntry): Promise<Written> {
    try {
      const isAlone = this.apart.has(deviceId) || charactersOf(entry) > MAX_CHARACTERS;
      const written = (isAlone ? null : await this.group.one(entry)) ?? (await this.writeAlone(entry));
      if (isRefusedByAnIndex(entry, written)) this.apart.add(deviceId);
      return written;
    } catch (error) {
      if (isRefusedForItsRows(error)) this.apart.add(deviceId);
      throw error;
    }
  }

  /** @returns in their order; null: that entry is to be written by itself */
  private async writeGroup(entries: readonly LaneEntry[]): Promise<(Written | null)[]> {
    const [only] = entries;
    if (only && entries.length === 1) return [await this.writeAlone(only)];
    const entered = await enterTogether(this.database, this.relayId, entries);
    for (const { seconds } of entered) if (seconds !== null) this.observe(seconds);
    // An intent alone waits for a receipt that another transaction has, which a group does not.
    return entered.map((each) => (each.closed === null && each.opened !== 'opened' ? null : each));
  }

  private async writeAlone({ close, next }: LaneEntry): Promise<Written> {
    const { database, relayId, observe } = this;
    if (close && next) return closeAndOpen(database, relayId, { close, next }, observe);
    if (close) return { closed: await closeRegistered(database, close, observe), opened: null };
    return { closed: null, opened: next && (await openAttempt(database, relayId, next)) };
  }
}

/** A unique index of attempts or receipts: alone an entry says which, a pair says nothing. */
function isRefusedByAnIndex({ close }: LaneEntry, { closed, opened }: Written): boolean {
  return closed === 'sequence_taken' || opened === 'lane_occupied' || (close !== null && closed === null);
}

function charactersOf({ close, next }: LaneEntry): number {
  const { terminalId = '', fiscalSign, verificationUrl, ofdError } = close?.registration ?? {};
  const texts = [terminalId, fiscalSign, verificationUrl, ofdError];
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), next?.request.length ?? 0);
}

function known<T>(answer: T | null): T {
  if (answer === null) throw new Error('an entry of a lane has no answer');
  return answer;
}
