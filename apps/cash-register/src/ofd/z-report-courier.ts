import type { FiscalModule } from '#fiscal-module';
import { toDelivery, type Delivery } from './delivery.js';
import type { OfdAnswer, OfdClient } from './ofd-client.js';
import { Resend, type ResendOutcome } from './resend.js';

/** Takes Z-reports to the OFD. One resend at a time; a report leaves the module when it was acknowledged. */
export class ZReportCourier {
  private tail: Promise<unknown> = Promise.resolve();
  private readonly unsent = new Resend(async (numbers, budgetMs) => ({
    tried: numbers.length,
    answer: await this.send(numbers, budgetMs),
  }));

  constructor(
    private readonly module: FiscalModule,
    private readonly ofd: Pick<OfdClient, 'send'>,
    private readonly closeBudgetMs: number,
  ) {}

  /** Delivers one report within the budget of the call that closed the shift. */
  async deliver(number: number): Promise<Delivery> {
    return toDelivery(await this.send([number], this.closeBudgetMs), number);
  }

  resend(): Promise<ResendOutcome> {
    const result = this.tail.then(() => this.unsent.all(this.module.unsentZReports()));
    this.tail = result.catch(() => undefined);
    return result;
  }

  private async send(numbers: readonly number[], budgetMs: number): Promise<OfdAnswer> {
    const reports = numbers.map((number) => {
      const report = this.module.zReport(number);
      if (!report) throw new Error(`Z-report ${String(number)} is unsent but not in the module`);
      return `${report.payload.slice(0, -1)},"digest":"${report.digest}"}`;
    });
    const head = `{"terminal_id":${JSON.stringify(this.module.info().terminalId)},"z_reports":[`;
    const answer = await this.ofd.send('/z-reports', `${head}${reports.join(',')}]}`, budgetMs);
    if (answer.kind === 'failed') return answer;
    this.module.acknowledgeZReports(numbers.filter((number) => answer.results.get(number)?.status === 'accepted'));
    return answer;
  }
}
