import { MAX_GROUPED_ROWS, StatementPump, type PumpPace } from './statement-pump.js';

interface Waiting<Asked, Found> {
  asked: Asked;
  resolve: (found: Found) => void;
  reject: (error: unknown) => void;
}

/** Questions that arrive together become one statement, whose rows are answered one by one (statement-pump.ts). */
export class StatementGroup<Asked, Found> {
  private readonly waiting: Waiting<Asked, Found>[] = [];
  private readonly pump: StatementPump;

  /** @param ask answers all of a group, in its order */
  constructor(
    private readonly ask: (group: readonly Asked[]) => Promise<readonly Found[]>,
    pace: PumpPace = {},
  ) {
    this.pump = new StatementPump(
      () => this.waiting.length,
      () => this.askNext(),
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

  private async askNext(): Promise<void> {
    const group = this.waiting.splice(0, MAX_GROUPED_ROWS);
    try {
      const found = await this.ask(group.map(({ asked }) => asked));
      group.forEach(({ resolve, reject }, index) => {
        const mine = found[index];
        if (mine === undefined) reject(new Error('a grouped statement left a row without its answer'));
        else resolve(mine);
      });
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
