import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { commandLine } from '../../system/command-line.js';
import { sql } from '../../system/database.js';
import { GatewayClient } from '../../system/gateway-client.js';
import { documentsAtOfd, setFaults } from '../../system/outside-world.js';
import type { TestMerchant } from '../../system/merchant.js';
import { until } from '../../../libs/runtime/src/testing/until.js';
import type { CaseRun, FaultCase, Outcome } from '../frame/case.js';
import { percentile } from '../frame/load.js';
import { Nation } from '../frame/nation.js';
import { fillWithReceipts, ReportStorm } from '../frame/report-storm.js';
import { judge, lanesFinish } from '../frame/truth.js';

const ALLOWED_GROWTH = 0.2;
const WINDOW_MS = 5_000;
/** A process that was asked to stop has done so by then. */
const STOPPED_AFTER_MS = 1_000;
const HOUR_MS = 3_600_000;
/** A health check every second, three in vain. */
const BALANCER_NOTICES_MS = 3_000;
/** A phase that has not sold what it should within this time has stopped accepting. */
const PHASE_LIMIT_MS = 420_000;

/** A span of the run; `wall` times are those of the database. */
interface Phase {
  name: string;
  fromMs: number;
  toMs: number;
  wallFromMs: number;
  wallToMs: number;
  /** From here on times are judged. After `fromMs` only where the database itself was away. */
  judgedFromMs: number;
}

/** Until a standby is the primary, has its address, and programs have found it. */
const MOST_AWAY_MS = 15_000;
const PROMOTED = 'promoted replica';

/** One nation through all phases: the shops stay open from the first to the last. */
class NationRun {
  readonly failures: string[] = [];
  readonly figures: string[] = [];
  private readonly phases: Phase[] = [];

  constructor(
    private readonly run: CaseRun,
    private readonly nation: Nation,
    /** Has the receipts that reports are made of. */
    private readonly reporter: TestMerchant,
  ) {}

  async goThrough(): Promise<void> {
    await this.phase('at rest', () => Promise.resolve());
    await this.massOutage();
    await this.rest();
    await this.ofdOutage();
    await this.rest();
    await this.promotion();
    await this.rest();
    await this.reports();
    await this.rest();
    await this.phase('lost gateway host', () => this.nation.loseFarHost(BALANCER_NOTICES_MS));
    await this.rest();
  }

  private async massOutage(): Promise<void> {
    try {
      await this.phase('95 % of the registers silent', () => Promise.resolve(this.nation.silenceOthers()));
    } finally {
      this.nation.wakeOthers();
    }
    const { fromMs = 0, toMs = 0 } = this.phases.at(-1) ?? {};
    const registered = this.nation
      .soldBetween(fromMs, toMs, 'others')
      .filter(({ startedMs, answer }) => startedMs > fromMs + STOPPED_AFTER_MS && answer.status === 201);
    if (registered.length > 0) this.failures.push(`${registered.length} sales were registered by silent registers`);
  }

  /** Three hours pass at the registers while no document can be delivered. */
  private async ofdOutage(): Promise<void> {
    await this.setOfd('down');
    const registerUrls = this.nation.firstRegisters;
    const { registerApiKey } = this.run.stage.system;
    const heldBefore = (await documentsAtOfd(this.run.stage.system)).length;
    await this.phase('OFD away for three hours', async () => {
      for (let hour = 0; hour < 3; hour += 1) {
        await setFaults({ registerUrls, registerApiKey }, [{ fault: 'clock_jump', delay_ms: HOUR_MS }], true);
        await delay(1_000);
      }
    });
    const held = (await documentsAtOfd(this.run.stage.system)).length;
    if (held !== heldBefore) this.failures.push(`the OFD took ${held - heldBefore} documents while it was away`);
    await this.setOfd('ok');
  }

  /** The primary dies, and its synchronous standby takes over. Without a database no sale is accepted: times count from then on. */
  private async promotion(): Promise<void> {
    const { failOver } = this.run.stage;
    if (!failOver) throw new Error('the stage has no standby');
    const beganMs = performance.now();
    let awayMs = 0;
    await this.phase(PROMOTED, async () => {
      await failOver();
      const backMs = performance.now();
      await until(
        'sales are accepted again',
        () => this.nation.triedBetween(backMs, Infinity).length,
        (count) => count > 0,
        PHASE_LIMIT_MS,
      );
      awayMs = performance.now() - beganMs;
      await nothingLost(this.run);
    });
    this.figures.push(`${PROMOTED}: accepting again after ${(awayMs / 1_000).toFixed(1)} s`);
    if (this.run.judgesTimes && awayMs > MOST_AWAY_MS) {
      this.failures.push(`${PROMOTED}: no sale was accepted for ${(awayMs / 1_000).toFixed(0)} s`);
    }
  }

  private async reports(): Promise<void> {
    const { system } = this.run.stage;
    let storm: ReportStorm | null = null;
    await this.phase('ten reports at a time', () => {
      storm = new ReportStorm(() => new GatewayClient(system.gatewayUrls, this.reporter));
      return Promise.resolve();
    });
    const answers = await (storm as ReportStorm | null)?.end();
    if (!answers) throw new Error('the storm did not begin');
    this.failures.push(...answers.failures);
    this.figures.push(answers.figure);
  }

  /** Begins something and goes on until so many sales were answered. */
  private async phase(name: string, begin: () => Promise<void>): Promise<void> {
    const { nation, run } = this;
    const [fromMs, wallFromMs] = [performance.now(), Date.now()];
    if (run.judgesTimes) process.stderr.write(`  ${new Date().toISOString()} ${name}\n`);
    await begin();
    // A sale that met a database that was away says nothing of what comes after it.
    const judgedFromMs = run.stage.failOver !== null && name === PROMOTED ? performance.now() : fromMs;
    await until(
      `${run.size.receipts} sales were answered: ${name}`,
      () => nation.triedBetween(judgedFromMs, Infinity).length,
      (count) => count >= run.size.receipts,
      PHASE_LIMIT_MS,
    );
    const phase = { name, fromMs, toMs: performance.now(), wallFromMs, wallToMs: Date.now(), judgedFromMs };
    this.phases.push(phase);
    if (!run.judgesTimes) return;
    const figures = `accepting ${this.rateOf(phase).toFixed(0)}/s, p95 of the healthy ${this.p95Of([phase]).toFixed(0)} ms`;
    process.stderr.write(`  ${new Date().toISOString()} ${figures}\n`);
  }

  /** Waits until the lanes have done what was accepted until now, then measures a span in which all is well. */
  private async rest(): Promise<void> {
    const beganMs = performance.now();
    const { tills } = this.nation;
    await lanesFinish(this.run.stage.system, { tills, before: new Date(), drainMs: PHASE_LIMIT_MS });
    const last = this.phases.at(-1);
    this.figures.push(`${last?.name}: caught up after ${((performance.now() - beganMs) / 1_000).toFixed(0)} s`);
    await this.phase('at rest', () => Promise.resolve());
  }

  /** Each phase beside the spans of rest before and after it. */
  measure(): void {
    for (const [index, phase] of this.phases.entries()) {
      if (phase.name === 'at rest') continue;
      const calm = [this.phases[index - 1], this.phases[index + 1]].filter((one) => one !== undefined);
      const growth = this.p95Of([phase]) / this.p95Of(calm) - 1;
      const calmRate = Math.min(...calm.map((one) => this.rateOf(one)));
      const share = this.slowestWindow(phase) / calmRate;
      const late = this.nation.books.latenessBetween(phase.wallFromMs, phase.wallToMs);
      this.figures.push(
        `${phase.name}: p95 of the healthy ${this.p95Of(calm).toFixed(0)} → ${this.p95Of([phase]).toFixed(0)} ms, ` +
          `accepting ${calmRate.toFixed(0)} → ${this.rateOf(phase).toFixed(0)}/s, slowest ${WINDOW_MS / 1_000} s ${(share * 100).toFixed(0)} %, ` +
          `webhooks p95 ${(late.p95Ms / 1_000).toFixed(1)} s, at most ${(late.mostMs / 1_000).toFixed(1)} s`,
      );
      if (!this.run.judgesTimes) continue;
      if (growth >= ALLOWED_GROWTH)
        this.failures.push(`${phase.name}: p95 of the healthy grew by ${(growth * 100).toFixed(0)} %`);
      if (share < 0.5) this.failures.push(`${phase.name}: accepting fell to ${(share * 100).toFixed(0)} %`);
      if (late.tooLate > 0)
        this.failures.push(`${phase.name}: ${late.tooLate} of ${late.count} webhooks were too late`);
    }
  }

  private async setOfd(mode: string): Promise<void> {
    const response = await fetch(`${this.run.stage.system.ofdUrl}/faults`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ mode }),
    });
    if (!response.ok) throw new Error(`POST /faults: ${response.status}`);
    await response.arrayBuffer();
  }

  private p95Of(phases: readonly Phase[]): number {
    const sold = phases.flatMap(({ judgedFromMs, toMs }) => this.nation.triedBetween(judgedFromMs, toMs, 'healthy'));
    return percentile(
      sold.map(({ tookMs }) => tookMs),
      0.95,
    );
  }

  private rateOf({ judgedFromMs, toMs }: Phase): number {
    return this.nation.soldBetween(judgedFromMs, toMs).length / ((toMs - judgedFromMs) / 1_000);
  }

  /** Sales a second in the slowest whole window. */
  private slowestWindow(phase: Phase): number {
    const { judgedFromMs: fromMs, toMs } = phase;
    const windows = Math.floor((toMs - fromMs) / WINDOW_MS);
    if (windows === 0) return this.rateOf(phase);
    const counts = Array<number>(windows).fill(0);
    for (const { answeredMs } of this.nation.soldBetween(fromMs, fromMs + windows * WINDOW_MS)) {
      const at = Math.floor((answeredMs - fromMs) / WINDOW_MS);
      counts[at] = (counts[at] ?? 0) + 1;
    }
    return Math.min(...counts) / (WINDOW_MS / 1_000);
  }
}

/** What the books of all four must agree on: the tills, the registers, the OFD, the receivers of webhooks. */
async function closeBooks(run: CaseRun, nation: Nation): Promise<Outcome> {
  const { system } = run.stage;
  const loads = nation.allLoads;
  const verdict = await judge(system, loads, { prefix: run.prefix, tills: nation.tills, drainMs: PHASE_LIMIT_MS });
  const due = await sql<{ receiptId: string; merchantId: string }>(
    system.database,
    `SELECT id AS "receiptId", merchant_id AS "merchantId" FROM receipts WHERE status = 'registered' AND id = ANY($1)`,
    [loads.flatMap(({ sold }) => sold.map(({ answer }) => answer.body.id ?? ''))],
  );
  const failures = [...verdict.failures, ...(await nation.books.settle(due))];
  return { ...verdict, failures, kills: 1 };
}

/**
 * What an operator does after a synchronous standby was promoted (docs/backup.md): a register that has never been asked who it is
 * counts as one without keys, and stands still until then.
 */
async function nothingLost({ stage: { system } }: CaseRun): Promise<void> {
  await until(
    'a relay has compared the database',
    () => sql(system.database, 'SELECT FROM database_identity WHERE changed_at IS NOT NULL').catch(() => []),
    ({ length }) => length === 1,
  );
  const evidence = join(system.folder, 'promotion.log');
  writeFileSync(evidence, 'a synchronous standby was promoted\n');
  const command = ['restore', 'nothing-lost', '--reason', 'a synchronous standby was promoted', '--evidence', evidence];
  const { status, stderr } = await commandLine(system, ...command);
  if (status !== 0) throw new Error(`restore nothing-lost: ${stderr}`);
}

/** A merchant with many receipts, copies of one that was sold before the shops open. */
async function fillReporter({ stage: { system }, size }: CaseRun, nation: Nation): Promise<TestMerchant> {
  const reporter = await system.addMerchant({ scopes: ['receipts:read'] });
  const [first] = nation.merchants;
  if (!first) throw new Error('there is no merchant');
  const sale = { ...first.client.saleOf(0), device_id: first.healthy[0]?.deviceId };
  const key = { 'idempotency-key': 'the-first-of-all', prefer: 'wait=60' };
  await until(
    'a sale is registered',
    () => first.client.post('/v1/receipts', sale, key).catch(() => null),
    (answer) => answer?.body.status === 'registered',
  );
  await fillWithReceipts(system, reporter.merchantId, size.strikes);
  return reporter;
}

export const nation: FaultCase = {
  number: '21',
  name: 'a nation: 95 % of the registers silent, the OFD away, a promoted replica, a storm of reports, a lost gateway host',
  alias: 'nation',
  stage: 'replicated',
  full: { receipts: 400, strikes: 300_000, merchants: 300, devices: 10_000, salesPerSecond: 20 },
  tenth: { receipts: 250, strikes: 50_000, merchants: 30, devices: 1_000, salesPerSecond: 15 },
  quick: { receipts: 30, strikes: 10_000, merchants: 10, devices: 100, salesPerSecond: 8 },
  maxSeconds: 3_600,
  async run(run) {
    const { merchants = 1, devices = 1, salesPerSecond = 10 } = run.size;
    const built = await Nation.build(run.stage.system, { merchants, devices, salesPerSecond });
    try {
      const reporter = await fillReporter(run, built);
      const course = new NationRun(run, built, reporter);
      built.openShops(run.prefix, run.chance);
      try {
        await course.goThrough();
      } finally {
        await built.closeShops();
      }
      const outcome = await closeBooks(run, built);
      course.measure();
      const size = `${merchants} merchants, ${devices} registers and cashiers`;
      const repeated = `${built.books.repeated} webhooks arrived again`;
      const setbacks = built.allLoads.flatMap(({ sold }) => sold.flatMap((one) => one.setbacks));
      const unanswered = `${setbacks.filter((one) => one === 'TimeoutError').length} requests never answered`;
      return {
        ...outcome,
        failures: [...outcome.failures, ...course.failures],
        figures: [size, ...course.figures, unanswered, repeated],
      };
    } finally {
      await built.end();
    }
  },
};
