import { isRefusedByServer } from './sql-errors.js';
import { MAX_GROUPED_ROWS, StatementPump, type PumpPace } from './statement-pump.js';

interface Waiting<Asked, Found> {
  asked: Asked;
  resolve: (found: Found) => void;
  reject: (error: unknown) => void;
}

export interface GroupOptions extends PumpPace {
  /** Of one statement. */
  maxRows?: number;
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
    { isApartWhenRefused = false, maxRows = MAX_GROUPED_ROWS, ...pace }: GroupOptions = {},
  ) {
    this.isApartWhenRefused = isApartWhenRefused;
    this.pump = new StatementPump(
      () => this.waiting.length,
      () => this.askThese(this.waiting.splice(0, maxRows)),
      pace,
    );
  }

  /** Rejects with the whole group when its statement fails. Unless the server refused it, what became of it is not known. */
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
      if (this.isApartWhenRefused && group.length > 1 && isRefusedByServer(error)) this.askApart(group);
      else for (const { reject } of group) reject(error);
    }
  }

  /** Beside the pump: what one of them waits for holds up no others. */
  private askApart(group: readonly Waiting<Asked, Found>[]): void {
    for (const one of group) void this.askThese([one]);
  }
}
