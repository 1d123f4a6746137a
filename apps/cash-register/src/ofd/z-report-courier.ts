import { type FiscalModule, OFD_BATCH } from '#fiscal-module';
import type { OfdClient } from './ofd-client.js';
import { OFD_FAILED, rejectionText, type Delivery, type ResendOutcome } from './receipt-courier.js';

const CALL_MS = 5_000;
/** As with documents (receipt-courier.ts): of one report alone, where more of them had no answer; and so many in a row. */
const ALONE_CALL_MS = 2_000;
const MOST_FAILURES = 2;

/** Takes Z-reports to the OFD. One resend at a time; a report leaves the module when it was acknowledged. */
export class ZReportCourier {
  private tail: Promise<unknown> = Promise.resolve();
  /** The last call had no answer at all: the next one asks with one report. */
  private isSilent = false;

  constructor(
    private readonly module: FiscalModule,
    private readonly ofd: Pick<OfdClient, 'send'>,
    private readonly closeBudgetMs: number,
  ) {}

  /** Delivers one report within the budget of the call that closed the shift. */
  async deliver(number: number): Promise<Delivery> {
    const [error] = (await this.send([number], this.closeBudgetMs)).errors;
    if (!error) return { kind: 'sent' };
    return { kind: 'unsent', error: error.code === 'T-001' ? OFD_FAILED : `${error.message} (${error.code})` };
  }

  resend(): Promise<ResendOutcome> {
    const result = this.tail.then(() => this.send(this.module.unsentZReports(), CALL_MS));
    this.tail = result.catch(() => undefined);
    return result;
  }

  /** Where several together fail, one goes alone, and more with each that arrives: one of them must not hold up all others. */
  private async send(numbers: readonly number[], budgetMs: number): Promise<ResendOutcome> {
    const errors: ResendOutcome['errors'][number][] = [];
    let [start, largest, failures] = [0, OFD_BATCH, 0];
    let [most, callMs] = this.isSilent ? [1, Math.min(ALONE_CALL_MS, budgetMs)] : [OFD_BATCH, budgetMs];
    while (start < numbers.length && failures < MOST_FAILURES) {
      const batch = numbers.slice(start, start + most);
      const failed = await this.sendBatch(batch, callMs);
      if (failed === null && batch.length > 1) {
        [most, largest, callMs] = [1, Math.ceil(batch.length / 2), ALONE_CALL_MS];
        continue;
      }
      errors.push(...(failed ?? batch.map(unreachable)));
      start += batch.length;
      if (failed === null) [failures, callMs] = [failures + 1, ALONE_CALL_MS];
      else [failures, most, callMs] = [0, Math.min(2 * most, largest), budgetMs];
    }
    if (numbers.length > 0) this.isSilent = failures > 0;
    errors.push(...numbers.slice(start).map(unreachable));
    return { total: numbers.length, sent: numbers.length - errors.length, errors };
  }

  /** Null: the OFD did not answer, or not so that it can be read. */
  private async sendBatch(numbers: readonly number[], budgetMs: number): Promise<ResendOutcome['errors'] | null> {
    const reports = numbers.map((number) => {
      const report = this.module.zReport(number);
      if (!report) throw new Error(`Z-report ${String(number)} is unsent but not in the module`);
      return `${report.payload.slice(0, -1)},"digest":"${report.digest}"}`;
    });
    const head = `{"terminal_id":${JSON.stringify(this.module.info().terminalId)},"z_reports":[`;
    const answer = await this.ofd.send('/z-reports', `${head}${reports.join(',')}]}`, budgetMs);
    if (answer.kind === 'failed') return null;
    const accepted = numbers.filter((number) => answer.results.get(number)?.status === 'accepted');
    this.module.acknowledgeZReports(accepted);
    return numbers
      .filter((number) => !accepted.includes(number))
      .map((number) => {
        const result = answer.results.get(number);
        return result ? { seq: number, code: 'T-003', message: rejectionText(result) } : unreachable(number);
      });
  }
}

function unreachable(number: number): ResendOutcome['errors'][number] {
  return { seq: number, code: 'T-001', message: 'all OFD servers failed' };
}
