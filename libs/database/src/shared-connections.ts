import { FairSlots, type ReleaseSlot, type Share } from '#runtime';

/** With fewer there is nothing to divide: one is for what is of no share, one for a caller that has none. */
const WORTH_DIVIDING = 4;
/** Connections that calls of one share may wait for before they begin; some wait for two at once. As many as a pool without shares lets wait. */
const WAITING_OF_ONE = 1_024;
/** Of all shares: beyond them a share may have one. Many times what one may have, so that a few that flood have no others refused. */
const WAITING_OF_ALL = 8_192;

/** More of a share waits to begin than may, or for longer: nothing of it was done (libs/problems makes 429 of it). */
export class ShareSpent extends Error {
  override readonly name = 'ShareSpent';

  constructor() {
    super('Too much of one share waits for a connection to the database');
  }
}

/** As {@link ShareSpent}, of work that has had a connection before and may have written: what it did before is done. */
export class ShareBusy extends Error {
  override readonly name = 'ShareBusy';

  constructor() {
    super('The connections to the database of one share are all in use, and none was free in time');
  }
}

/**
 * Whose turn it is to have one of a pool's connections. The pool itself serves first come, first served: a hundred changes of one merchant,
 * which wait for one another on its audit trail, would stand in front of what every other merchant reads. Here no share has more than half of
 * the connections, the last one is for a share that has none, and one stays for the program's own work, which takes no turn.
 *
 * Addresses are parts of one share, and divide it in the same way: else a caller with a thousand of them would be a thousand that hold none.
 */
export class SharedConnections {
  private readonly slots: FairSlots;
  /** Of the share that has parts. */
  private readonly parts: FairSlots;

  private constructor(
    size: number,
    private readonly timeoutMs: number,
  ) {
    const perKey = Math.ceil(size / 2);
    const bounds = { waitingPerKey: WAITING_OF_ONE, waiting: WAITING_OF_ALL };
    this.slots = new FairSlots({ total: size - 1, perKey, ...bounds });
    this.parts = new FairSlots({ total: perKey, perKey: Math.ceil(perKey / 2), ...bounds });
  }

  /** Null: the pool is too small. @param timeoutMs how long a connection may be waited for */
  static of(size: number, timeoutMs: number): SharedConnections | null {
    return size < WORTH_DIVIDING ? null : new SharedConnections(size, timeoutMs);
  }

  get waiting(): number {
    return this.slots.waiting + this.parts.waiting;
  }

  /**
   * One that has had a connection before goes ahead of those that are to begin: else a burst would have all its calls half done, and none in time.
   * Rejects when too many wait already, or when it has taken too long.
   */
  async take(share: Share): Promise<ReleaseSlot> {
    if (share.within === undefined) return this.takeOf(this.slots, share.name, share);
    // A part is no connection yet: what waits in vain for one has not begun.
    const part = await this.takeOf(this.parts, share.name, { ...share });
    try {
      const whole = await this.takeOf(this.slots, share.within, share);
      return () => {
        whole();
        part();
      };
    } catch (error) {
      part();
      throw error;
    }
  }

  private async takeOf(slots: FairSlots, name: string, share: Share): Promise<ReleaseSlot> {
    const free = slots.tryTake(name);
    if (free) return begun(share, free);
    const turn = share.hasBegun ? slots.takeAgain(name) : slots.take(name);
    if (!turn) throw refusal(share);
    return this.inTime(share, turn);
  }

  private inTime(share: Share, turn: Promise<ReleaseSlot>): Promise<ReleaseSlot> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const timer = setTimeout(() => {
        isOver = true;
        reject(refusal(share));
      }, this.timeoutMs);
      void turn.then((release) => {
        clearTimeout(timer);
        if (isOver) release();
        else resolve(begun(share, release));
      });
    });
  }
}

function refusal({ hasBegun, isRead = false }: Share): Error {
  return hasBegun && !isRead ? new ShareBusy() : new ShareSpent();
}

function begun(share: Share, release: ReleaseSlot): ReleaseSlot {
  share.hasBegun = true;
  return release;
}
