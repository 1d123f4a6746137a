import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { PrismaService, ReportReads } from '#database';
import { systemClock } from '#runtime';
import type { IsCallerGone } from '../../http/caller-gone.js';
import { ReportGate } from '../../receipts/reports/report-gate.js';
import { countdowns, countdownView, type CountdownRow } from './countdown-rows.js';
import type { Overview, OverviewBranch, OverviewDevice, OverviewLatency } from './overview-view.js';
import { byMinute, percentilesOf, type BucketRow } from './percentiles.js';
import { DAYS, dayName, daySums, dayStart, overviewDay, overviewSums, placesOf, sumsBetween } from './receipt-sums.js';
import type { DaySums, SumRow } from './receipt-sums.js';
import { shared } from './shared-reading.js';

/** Days that are over change only when an unknown receipt is decided. */
const BEFORE_TODAY_MS = 10 * 60_000;
const TODAY_MS = 10_000;
const MERCHANTS_KEPT = 200;
const MAX_PLACES = 500;
const MAX_COUNTDOWNS = 50;
const HOUR_MS = 3_600_000;

type Place = OverviewBranch['today'];
type SumsOfPlace = { today: Place; last_30_days: Place };

/** GET /v1/overview: what a person sees first. The sums over receipts are reports, and admitted as such. */
@Injectable()
export class ReadOverview {
  private readonly before = new LRUCache<string, Promise<DaySums>>({ max: MERCHANTS_KEPT, ttl: BEFORE_TODAY_MS });
  private readonly today = new LRUCache<string, Promise<DaySums & { at: Date }>>({
    max: MERCHANTS_KEPT,
    ttl: TODAY_MS,
  });

  constructor(
    private readonly prisma: PrismaService,
    private readonly reports: ReportReads,
    private readonly gate: ReportGate,
  ) {}

  /** @throws Problem 503 with Retry-After when too many reports wait already */
  async execute(merchantId: string, isCallerGone: IsCallerGone): Promise<Overview> {
    const now = systemClock.now();
    const [first, start] = [dayStart(now, DAYS - 1), dayStart(now, 0)];
    const key = `${merchantId} ${dayName(start)}`;
    const read = (from: Date, to: Date): Promise<DaySums> =>
      this.gate.run(merchantId, isCallerGone, () => this.sums(merchantId, from, to));
    const before = await shared(this.before, key, () => read(first, start));
    const today = await shared(this.today, key, async () => ({
      ...(await read(start, dayStart(now, -1))),
      at: now,
    }));
    const rows = [...before.rows, ...today.rows];
    const branches = placesOf(before.branches, today.branches, MAX_PLACES);
    const devices = placesOf(before.devices, today.devices, MAX_PLACES);
    const [byBranch, byDevice, latency, due] = await Promise.all([
      this.named(merchantId, branches),
      this.namedDevices(merchantId, devices),
      this.latency(merchantId, now),
      this.prisma.$queryRaw<CountdownRow[]>(countdowns(merchantId, MAX_COUNTDOWNS)),
    ]);
    return {
      generated_at: today.at.toISOString(),
      today: overviewSums(today.rows),
      last_30_days: overviewSums(rows),
      days: Array.from({ length: DAYS }, (_, index) => overviewDay(dayName(dayStart(now, DAYS - 1 - index)), rows)),
      by_branch: byBranch,
      by_device: byDevice,
      latency,
      countdowns: due.map(countdownView),
    };
  }

  private async sums(merchantId: string, from: Date, to: Date): Promise<DaySums> {
    return daySums(
      await this.reports.read((database) => database.queryPlanned<SumRow>(sumsBetween(merchantId, from, to))),
    );
  }

  private async named(merchantId: string, places: ReadonlyMap<string, SumsOfPlace>): Promise<OverviewBranch[]> {
    const rows = await this.prisma.$queryRaw<{ id: string; name: string }[]>`
      SELECT id, name FROM branches WHERE merchant_id = ${merchantId} AND id = ANY(${[...places.keys()]}::text[])`;
    const names = new Map(rows.map(({ id, name }) => [id, name]));
    return [...places].map(([id, sums]) => ({ branch_id: id, name: names.get(id) ?? '', ...sums }));
  }

  private async namedDevices(merchantId: string, places: ReadonlyMap<string, SumsOfPlace>): Promise<OverviewDevice[]> {
    const rows = await this.prisma.$queryRaw<{ id: string; name: string; branch_id: string; state: string }[]>`
      SELECT id, name, branch_id, state::text FROM devices
       WHERE merchant_id = ${merchantId} AND id = ANY(${[...places.keys()]}::text[])`;
    const devices = new Map(rows.map((row) => [row.id, row]));
    return [...places].map(([id, sums]) => {
      const { name = '', branch_id = '', state = '' } = devices.get(id) ?? {};
      return { device_id: id, name, branch_id, state, ...sums };
    });
  }

  private async latency(merchantId: string, now: Date): Promise<OverviewLatency> {
    const rows = await this.prisma.$queryRaw<BucketRow[]>`
      SELECT minute, bucket, count, max_ms FROM latency_minutes
       WHERE merchant_id = ${merchantId} AND minute > ${new Date(now.getTime() - 24 * HOUR_MS)}::timestamptz
       ORDER BY minute, bucket`;
    const lastHour = rows.filter(({ minute }) => minute.getTime() > now.getTime() - HOUR_MS);
    return { last_hour: percentilesOf(lastHour), last_24_hours: percentilesOf(rows), minutes: byMinute(lastHour) };
  }
}
