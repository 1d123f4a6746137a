import { PrismaService, ReportDatabase, ReportReads } from '#database';
import { ReportGate } from '../../receipts/reports/report-gate.js';
import type { Overview } from '../overview/overview-view.js';
import { ReadOverview } from '../overview/read-overview.js';
import { ReadPlatformOverview } from '../overview/read-platform-overview.js';
import { ReceiptSpans } from '../overview/receipt-spans.js';
import { dayStart } from '../overview/receipt-sums.js';
import type { OperatorFixture } from './operator-fixture.js';

/** One moment for a whole file, far from midnight in Tashkent: a day that ends between two statements changes nothing. */
export const NOON = new Date(dayStart(new Date(), 0).getTime() + 12 * 3_600_000);

/** As a gateway that has just been started reads it. */
export function readAnew({ app }: OperatorFixture, merchantId: string): Promise<Overview> {
  const overview = new ReadOverview(app.get(PrismaService), app.get(ReceiptSpans), app.get(ReportGate));
  return overview.execute(merchantId, () => false, NOON);
}

/** The same of all merchants. */
export function platformReader({ app }: OperatorFixture): ReadPlatformOverview {
  return new ReadPlatformOverview(app.get(ReportDatabase), app.get(ReportReads), app.get(ReportGate));
}
