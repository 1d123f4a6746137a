import { onBehalfOfAll } from './merchant-scope.js';

/** Statements at work at the same time; more do not help, they only make groups smaller. */
const MAX_STATEMENTS = 2;
/** Rows that must wait before a second statement runs beside the first: small groups cost each row more. */
const WORTH_A_SECOND = 8;
/** Rows of one statement: bounds its parameters, and what one failure repeats row by row. */
export const MAX_GROUPED_ROWS = 500;
/**
 * For `lateMs` where callers have nothing to do with each other: a statement that waits for a lock, or whose connection has gone silent,
 * holds up those that are not in it for so long.
 */
export const HOLDS_UP_MS = 250;

export interface PumpPace {
  /** Statements at work at the same time. */
  maxStatements?: number;
  /** From the beginning of one statement to that of the next: rows wait so long at most, and only when others were just before them. */
  pauseMs?: number;
  /** A statement that takes longer holds up no others: it is not counted any more. Without it all count until they end. */
  lateMs?: number;
}

/**
 * When rows that wait are written together (docs/adr/0003-grouped-accept.md): each statement takes all that wait at that
 * moment, so the group's size follows the load by itself.
 */
export class StatementPump {
  private readonly maxStatements: number;
  private readonly pauseMs: number;
  private readonly lateMs: number | null;
  private statements = 0;
  private isDue = false;
  private begunAt = -Infinity;

  /**
   * @param waiting how many rows wait
   * @param writeNext takes the next group of them and settles each of its rows; never rejects
   */
  constructor(
    private readonly waiting: () => number,
    private readonly writeNext: () => Promise<void>,
    { maxStatements = MAX_STATEMENTS, pauseMs = 0, lateMs }: PumpPace = {},
  ) {
    this.maxStatements = maxStatements;
    this.pauseMs = pauseMs;
    this.lateMs = lateMs ?? null;
  }

  /** After everything that this turn of the event loop has read: what came together is written together. */
  schedule(): void {
    if (this.isDue) return;
    this.isDue = true;
    const go = (): void => {
      this.isDue = false;
      // Its rows are those of many callers, whichever came first.
      onBehalfOfAll(() => this.run());
    };
    const waitMs = this.begunAt + this.pauseMs - performance.now();
    if (waitMs > 0) setTimeout(go, waitMs);
    else setImmediate(go);
  }

  private run(): void {
    while (this.statements < this.maxStatements && this.waiting() > this.statements * WORTH_A_SECOND) {
      this.begunAt = performance.now();
      const end = this.count();
      void this.writeNext().finally(end);
    }
  }

  /** One more statement is at work. @returns to be called when it has ended */
  private count(): () => void {
    this.statements += 1;
    let isCounted = true;
    const end = (): void => {
      if (late) clearTimeout(late);
      if (!isCounted) return;
      isCounted = false;
      this.statements -= 1;
      this.schedule();
    };
    const late = this.lateMs === null ? null : setTimeout(end, this.lateMs);
    return end;
  }
}
