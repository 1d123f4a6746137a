import { type FiscalModule, OFD_BATCH } from '#fiscal-module';
import type { OfdClient } from './ofd-client.js';
import { OFD_FAILED, rejectionText, type Delivery, type ResendOutcome } from './receipt-courier.js';

const CALL_MS = 5_000;

/** Takes Z-reports to the OFD. One resend at a time; a report leaves the module when it was acknowledged. */
export class ZReportCourier {
  private tail: Promise<unknown> = Promise.resolve();

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

  private async send(numbers: readonly number[], callMs: number): Promise<ResendOutcome> {
    const errors: ResendOutcome['errors'][number][] = [];
    let reachable = true;
    for (let start = 0; start < numbers.length; start += OFD_BATCH) {
      const batch = numbers.slice(start, start + OFD_BATCH);
      const failed: ResendOutcome['errors'] = reachable ? await this.sendBatch(batch, callMs) : batch.map(unreachable);
      reachable = failed.every((error) => error.code !== 'T-001');
      errors.push(...failed);
    }
    return { total: numbers.length, sent: numbers.length - errors.length, errors };
  }

  private async sendBatch(numbers: readonly number[], budgetMs: number): Promise<ResendOutcome['errors']> {
    const reports = numbers.map((number) => {
      const report = this.module.zReport(number);
      if (!report) throw new Error(`Z-report ${String(number)} is unsent but not in the module`);
      return `${report.payload.slice(0, -1)},"digest":"${report.digest}"}`;
    });
    const head = `{"terminal_id":${JSON.stringify(this.module.info().terminalId)},"z_reports":[`;
    const answer = await this.ofd.send('/z-reports', `${head}${reports.join(',')}]}`, budgetMs);
    if (answer.kind === 'failed') return numbers.map(unreachable);
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
