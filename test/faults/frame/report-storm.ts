import { setTimeout as delay } from 'node:timers/promises';
import { sql } from '../../system/database.js';
import type { GatewayClient } from '../../system/gateway-client.js';
import type { TestSystem } from '../../system/system.js';

const REPORTS_AT_ONCE = 10;

/** Registered receipts of a merchant that has no register here: copies of one that was sold, as many as the case says. */
export async function fillWithReceipts(
  system: Pick<TestSystem, 'database'>,
  merchantId: string,
  count: number,
): Promise<void> {
  await sql(
    system.database,
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, device_id, branch_id, cashier_id, document,
                           total_tiyin, vat_total_tiyin, terminal_id, receipt_seq, registered_at, evidence, ofd_status, ofd_sent_at)
     SELECT 'rcp_storm_' || n, $1, client_id, operation, body_hash, type, status, 'dev_storm', 'brn_storm', 'csh_storm', document,
            total_tiyin, vat_total_tiyin, 'STORM', n, now() - n * interval '1 second', evidence, 'sent', now()
       FROM (SELECT * FROM receipts WHERE status = 'registered' LIMIT 1) AS sold, generate_series(1, $2::int) AS n`,
    [merchantId, count],
  );
  await sql(system.database, 'ANALYZE receipts');
}

export interface ReportAnswers {
  figure: string;
  failures: string[];
}

/** Asks for the most expensive report again and again, ten at a time, until it is ended. */
export class ReportStorm {
  private readonly stopping = new AbortController();
  private readonly answers = new Map<number, number>();
  private readonly askers: Promise<unknown>;

  constructor(clientOf: () => GatewayClient) {
    this.askers = Promise.all(Array.from({ length: REPORTS_AT_ONCE }, () => this.ask(clientOf())));
  }

  async end(): Promise<ReportAnswers> {
    this.stopping.abort();
    await this.askers;
    const countOf = (status: number): number => this.answers.get(status) ?? 0;
    const odd = [...this.answers.keys()].filter((status) => status < 0);
    const failures = odd.map((status) => `reports were answered with ${-status}`);
    if (countOf(200) === 0) failures.push('not one report was made');
    return { figure: `${countOf(200)} reports made, ${countOf(503)} refused with Retry-After`, failures };
  }

  private async ask(client: GatewayClient): Promise<void> {
    while (!this.stopping.signal.aborted) {
      const { status, headers } = await client.get('/v1/reports/turnover?by=vat');
      const isPolite = status === 200 || (status === 503 && headers.has('retry-after'));
      const counted = isPolite ? status : -status;
      this.answers.set(counted, (this.answers.get(counted) ?? 0) + 1);
      if (status !== 200) await delay(200);
    }
  }
}
