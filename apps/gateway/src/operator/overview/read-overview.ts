import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { PrismaService } from '#database';
import { countUnknownOf } from '#ledger';
import { systemClock } from '#runtime';
import type { IsCallerGone } from '../../http/caller-gone.js';
import { ReportGate } from '../../receipts/reports/report-gate.js';
import { countdowns, countdownView, type CountdownRow } from './countdown-rows.js';
import type { Overview, OverviewBranch, OverviewDevice, OverviewLatency } from './overview-view.js';
import { byMinute, percentilesOf, type BucketRow } from './percentiles.js';
import { joined, NO_SUMS, ReceiptSpans } from './receipt-spans.js';
import {
  DAYS,
  dayName,
  dayStart,
  MAX_UNDER_WAY,
  MAX_WAITING,
  overviewDay,
  overviewSums,
  placesOf,
  type DaySums,
} from './receipt-sums.js';
import { shared } from './shared-reading.js';

/** Days that are over change only when an unknown receipt is decided. */
const BEFORE_TODAY_MS = 10 * 60_000;
const TODAY_MS = 10_000;
/**
 * Longer than any transaction that accepts receipts, and than a replica may lag: what was accepted so long ago is all there, and of a
 * span that ended so long ago only what was under way is read again.
 */
const WHOLE_AFTER_MS = 15 * 60_000;
const STEP_MS = 10 * 60_000;
const MERCHANTS_KEPT = 200;
const MAX_PLACES = 500;
const MAX_COUNTDOWNS = 50;
const HOUR_MS = 3_600_000;

type Place = OverviewBranch['today'];
type SumsOfPlace = { today: Place; last_30_days: Place };

/** What is final of today until a time, and the ids of what is not. */
interface SoFar {
  until: number;
  final: DaySums;
  ids: readonly string[];
}

/** GET /v1/overview: what a person sees first. The sums over receipts are reports, and admitted as such. */
@Injectable()
export class ReadOverview {
  private readonly before = new LRUCache<string, Promise<DaySums>>({ max: MERCHANTS_KEPT, ttl: BEFORE_TODAY_MS });
  private readonly today = new LRUCache<string, Promise<DaySums & { at: Date }>>({
    max: MERCHANTS_KEPT,
    ttl: TODAY_MS,
  });

  private readonly soFar = new LRUCache<string, SoFar>({ max: MERCHANTS_KEPT });

  constructor(
    private readonly prisma: PrismaService,
    private readonly spans: ReceiptSpans,
    private readonly gate: ReportGate,
  ) {}

  /** @throws Problem 503 with Retry-After when too many reports wait already */
  async execute(merchantId: string, isCallerGone: IsCallerGone, now = systemClock.now()): Promise<Overview> {
    const key = `${merchantId} ${dayName(dayStart(now, 0))}`;
    const run = <T>(make: () => Promise<T>): Promise<T> => this.gate.run(merchantId, isCallerGone, make);
    const before = await shared(this.before, key, () => this.readBefore(merchantId, now, run));
    const today = await shared(this.today, key, () =>
      run(async () => ({ ...(await this.readToday(merchantId, key, now)), at: now })),
    );
    const rows = [...before.rows, ...today.rows];
    const branches = placesOf(before.branches, today.branches, MAX_PLACES);
    const devices = placesOf(before.devices, today.devices, MAX_PLACES);
    const [byBranch, byDevice, latency, due, waiting] = await Promise.all([
      this.named(merchantId, branches),
      this.namedDevices(merchantId, devices),
      this.latency(merchantId, now),
      this.prisma.$queryRaw<CountdownRow[]>(countdowns(merchantId, MAX_COUNTDOWNS)),
      countUnknownOf(this.prisma, merchantId, MAX_WAITING),
    ]);
    return {
      generated_at: today.at.toISOString(),
      waiting_for_person: waiting,
      today: overviewSums(today.rows),
      last_30_days: overviewSums(rows),
      days: Array.from({ length: DAYS }, (_, index) => overviewDay(dayName(dayStart(now, DAYS - 1 - index)), rows)),
      by_branch: byBranch,
      by_device: byDevice,
      latency,
      countdowns: due.map(countdownView),
    };
  }

  /** Each day that is over is read once, by itself, and kept for all gateways; of those only what was under way then is read again. */
  private async readBefore(
    merchantId: string,
    now: Date,
    run: <T>(make: () => Promise<T>) => Promise<T>,
  ): Promise<DaySums> {
    const first = dayName(dayStart(now, DAYS - 1));
    const kept = await this.spans.keptSince(merchantId, first);
    const days: DaySums[] = [];
    const underWay: string[] = [];
    for (let ago = DAYS - 1; ago > 0; ago -= 1) {
      const [from, to] = [dayStart(now, ago), dayStart(now, ago - 1)];
      const day = dayName(from);
      const known = kept.get(day);
      if (known) {
        days.push(known.final);
        underWay.push(...known.ids);
        continue;
      }
      const span = await run(() => this.spans.between(merchantId, from, to));
      days.push(span.final, span.underWay);
      if (now.getTime() - to.getTime() > WHOLE_AFTER_MS) await this.spans.keep(merchantId, { day, first }, span);
    }
    const since = underWay.length === 0 ? null : await run(() => this.spans.of(merchantId, underWay));
    return joined([...days, since?.final ?? NO_SUMS, since?.underWay ?? NO_SUMS]);
  }

  /** What is final of today is added up as it goes: a reading reads the last minutes, and what was under way before them. */
  private async readToday(merchantId: string, key: string, now: Date): Promise<DaySums> {
    const [begin, end] = [dayStart(now, 0), dayStart(now, -1)];
    const whole = Math.floor((now.getTime() - WHOLE_AFTER_MS) / STEP_MS) * STEP_MS;
    let soFar = this.soFar.get(key) ?? { until: begin.getTime(), final: NO_SUMS, ids: [] };
    if (soFar.until < whole) soFar = await this.advance(merchantId, soFar, whole);
    this.soFar.set(key, soFar);
    const since = await this.spans.of(merchantId, soFar.ids);
    const rest = await this.spans.between(merchantId, new Date(soFar.until), end);
    return joined([soFar.final, since.final, since.underWay, rest.final, rest.underWay]);
  }

  /** Stays where it is while too much is under way, as in an outage of all registers. */
  private async advance(merchantId: string, soFar: SoFar, until: number): Promise<SoFar> {
    const since = await this.spans.of(merchantId, soFar.ids);
    const more = await this.spans.between(merchantId, new Date(soFar.until), new Date(until));
    if (since.ids === null || more.ids === null) return soFar;
    const ids = [...since.ids, ...more.ids];
    if (ids.length > MAX_UNDER_WAY) return soFar;
    return { until, final: joined([soFar.final, since.final, more.final]), ids };
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
