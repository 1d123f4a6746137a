import { StatementGroup } from '#database';
import type { HotStatements } from '../statements.js';
import { closeAndOpen, enterTogether, type ClosedAndOpened } from './close-and-open.js';
import { closeRegistered, type Closed, type CloseRegistered } from './close.js';
import type { LaneEntry } from './given.js';
import { openAttempt, type Intent, type Opened } from './open.js';

/** A statement that waits for a lock, or whose connection has gone silent, holds up the lanes that are not in it for so long. */
const LATE_MS = 250;

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
    lateMs: LATE_MS,
    isApartWhenRefused: true,
  });

  constructor(
    private readonly database: HotStatements,
    private readonly relayId: string,
    private readonly observe: (secondsSinceAccepted: number) => void = () => undefined,
  ) {}

  async openAttempt(next: Intent): Promise<Opened> {
    return known((await this.write({ close: null, next })).opened);
  }

  async closeRegistered(close: CloseRegistered): Promise<Closed> {
    return known((await this.write({ close, next: null })).closed);
  }

  async closeAndOpen(close: CloseRegistered, next: Intent): Promise<ClosedAndOpened> {
    const { closed, opened } = await this.write({ close, next });
    // Which of the unique indexes refused it, the result alone will say.
    return closed === 'sequence_taken' ? { closed: null, opened: null } : { closed, opened };
  }

  private async write(entry: LaneEntry): Promise<Written> {
    return (await this.group.one(entry)) ?? this.writeAlone(entry);
  }

  /** @returns in their order; null: that entry is to be written by itself */
  private async writeGroup(entries: readonly LaneEntry[]): Promise<(Written | null)[]> {
    const [only] = entries;
    if (only && entries.length === 1) return [await this.writeAlone(only)];
    const entered = await enterTogether(this.database, this.relayId, entries);
    for (const { seconds } of entered) if (seconds !== null) this.observe(seconds);
    return entered.map((each, number) => (isAnswered(entries[number], each) ? each : null));
  }

  private async writeAlone({ close, next }: LaneEntry): Promise<Written> {
    const { database, relayId, observe } = this;
    if (close && next) return closeAndOpen(database, relayId, { close, next }, observe);
    if (close) return { closed: await closeRegistered(database, close, observe), opened: null };
    return { closed: null, opened: next && (await openAttempt(database, relayId, next)) };
  }
}

/** An intent alone waits for a receipt that another transaction has, which a group does not. */
function isAnswered(entry: LaneEntry | undefined, { opened }: Written): boolean {
  return entry?.close !== null || opened === 'opened';
}

function known<T>(answer: T | null): T {
  if (answer === null) throw new Error('an entry of a lane has no answer');
  return answer;
}
