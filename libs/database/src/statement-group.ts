import { isRefusedByServer } from './sql-errors.js';
import { MAX_GROUPED_ROWS, StatementPump, type PumpPace } from './statement-pump.js';

interface Waiting<Asked, Found> {
  asked: Asked;
  resolve: (found: Found) => void;
  reject: (error: unknown) => void;
}

export interface GroupOptions extends PumpPace {
  /** What the server refuses of a group is asked one by one: who caused it hears why, and the others are answered. */
  isApartWhenRefused?: boolean;
}

/** Questions that arrive together become one statement, whose rows are answered one by one (statement-pump.ts). */
export class StatementGroup<Asked, Found> {
  private readonly waiting: Waiting<Asked, Found>[] = [];
  private readonly pump: StatementPump;
  private readonly isApartWhenRefused: boolean;

  /** @param ask answers all of a group, in its order */
  constructor(
    private readonly ask: (group: readonly Asked[]) => Promise<readonly Found[]>,
    { isApartWhenRefused = false, ...pace }: GroupOptions = {},
  ) {
    this.isApartWhenRefused = isApartWhenRefused;
    this.pump = new StatementPump(
      () => this.waiting.length,
      () => this.askThese(this.waiting.splice(0, MAX_GROUPED_ROWS)),
      pace,
    );
  }

  /** Rejects with the whole group when its statement fails: nothing of it was written then. */
  one(asked: Asked): Promise<Found> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ asked, resolve, reject });
      this.pump.schedule();
    });
  }

  private async askThese(group: readonly Waiting<Asked, Found>[]): Promise<void> {
    try {
      const found = await this.ask(group.map(({ asked }) => asked));
      group.forEach(({ resolve, reject }, index) => {
        const mine = found[index];
        if (mine === undefined) reject(new Error('a grouped statement left a row without its answer'));
        else resolve(mine);
      });
    } catch (error) {
      if (this.isApartWhenRefused && group.length > 1 && isRefusedByServer(error))
        await Promise.all(group.map((one) => this.askThese([one])));
      else for (const { reject } of group) reject(error);
    }
  }
}
