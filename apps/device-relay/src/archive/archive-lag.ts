import { LEAVING_PREFIX, readDue, unfinishedForSeconds, type LeavingTable, type RunStatement } from '#ledger';
import { firstIdAt } from '#runtime';

const DAY_MS = 86_400_000;
/** Rows that one statement reads, and statements of one reading. */
const PAGE = 1_000;
const PAGES = 5;

/**
 * How far the archive of one table is behind. Old attempts that have to stay become many over the years, the newest of each register that is gone among
 * them: a reading goes on where the one before it ended, and says what was known last until it has come round.
 */
export class ArchiveLag {
  private after = '';
  private known = 0;

  constructor(
    private readonly table: LeavingTable,
    private readonly keepDays: number,
    private readonly page = PAGE,
  ) {}

  /** @returns seconds; 0: nothing is due and nothing is left unfinished */
  async read(run: RunStatement): Promise<number> {
    const before = new Date(Date.now() - this.keepDays * DAY_MS);
    const upTo = firstIdAt(LEAVING_PREFIX[this.table], before);
    for (let page = 0; page < PAGES; page += 1) {
      const { behind, last } = await readDue(run, this.table, { after: this.after, upTo, before, limit: this.page });
      if (behind === null && last !== null) {
        this.after = last;
        continue;
      }
      this.known = behind ?? 0;
      if (behind === null) this.after = '';
      break;
    }
    return Math.max(this.known, await unfinishedForSeconds(run));
  }
}
