import { setTimeout as delay } from 'node:timers/promises';
import { freePorts } from '../../../libs/runtime/src/testing/free-ports.js';
import type { ReplicatedServer } from '../../recovery/replicated-server.js';
import { sql } from '../../system/database.js';
import { startMoreRegisters, type MoreRegisters } from '../../system/more-registers.js';
import type { TestSystem } from '../../system/system.js';
import { TcpProxy } from '../../system/tcp-proxy.js';
import { until } from '../../../libs/runtime/src/testing/until.js';
import type { CaseRun, FaultCase } from '../frame/case.js';
import { Load, type Sold } from '../frame/load.js';
import { readPromotionBooks, type Promotion } from '../frame/promotion-books.js';
import { IMPATIENT } from '../frame/stage.js';
import { deliverUnsent, judge, lanesFinish } from '../frame/truth.js';

const REGISTERS = 5;
/** These answer for their own receipts: without failover nothing of theirs can be anywhere else. */
const WITHOUT_FAILOVER = 2;
const LEAST_LAG_MS = 100;
const MOST_LAG_MS = 3_000;
/** Accepted at the register that is away when the standby loses its line. */
const WAITING = 3;
/** Until all registers sell again. */
const RECOVERS_WITHIN_S = 30;
const DRAIN_MS = 240_000;

/** What a round's promotion held back, and how each of it ended. */
interface Held {
  held: number;
  sent: number;
  found: number;
  person: number;
}

interface Round extends Promotion, Held {
  lagMs: number;
  sellAgainS: number;
}

/** The line to the register that is away while the standby lags. */
class FirstRegister {
  private proxy: TcpProxy | null = null;

  constructor(
    private readonly port: number,
    private readonly target: number,
  ) {}

  async connect(): Promise<void> {
    this.proxy = new TcpProxy(this.port, this.target);
    await this.proxy.listen();
  }

  async cut(): Promise<void> {
    await this.proxy?.close();
    this.proxy = null;
  }
}

/** One system whose primary dies again and again; each time its standby lags and is promoted. No program is restarted. */
class Promotions {
  readonly rounds: Round[] = [];
  readonly failures: string[] = [];

  constructor(
    private readonly run: CaseRun,
    private readonly replica: ReplicatedServer,
    private readonly shop: MoreRegisters,
    private readonly first: FirstRegister,
    private readonly load: Load,
  ) {}

  async strike(): Promise<void> {
    const { run, replica, load, first, shop } = this;
    const { strikes, receipts } = run.size;
    const nth = this.rounds.length;
    await load.reaches(Math.floor((receipts * (nth + 0.5)) / strikes));
    await replica.attachStandby();
    const [till] = shop.merchant.tills;
    await first.cut();
    for (let count = 0; count < WAITING; count += 1) if (till) await load.sellOnce(till, 'respond-async');
    const cutMs = performance.now();
    await replica.loseLine();
    const lagMs = LEAST_LAG_MS + ((nth + run.chance.next()) / strikes) * (MOST_LAG_MS - LEAST_LAG_MS);
    await delay(lagMs);
    const before = await changedAt(run.stage.system);
    await replica.killPrimary();
    const killedMs = performance.now();
    // It comes back to a database that knows nothing of what failover has taken from it since the cut.
    await first.connect();
    await replica.promote();
    const sellAgainS = await this.sellAgain();
    await until(
      'a relay has compared the database',
      () => changedAt(run.stage.system),
      (changed) => changed !== null && changed !== before,
    );
    this.rounds.push({ cutMs, killedMs, lagMs, sellAgainS, ...(await heldAndEnded(run.stage.system)) });
  }

  /** Seconds from the promoted server's first second. How long it may take is judged with the times: a stalled lane is not lost. */
  private async sellAgain(): Promise<number> {
    const backMs = performance.now();
    const sold = await Promise.all(this.shop.merchant.tills.map((till) => this.load.sellOnce(till, 'wait=60')));
    if (sold.includes(null)) this.failures.push('not every register accepted a sale again');
    const ids = sold.map((one) => one?.answer.body.id ?? '');
    await until(
      'every register has sold again',
      () =>
        sql(this.run.stage.system.database, `SELECT FROM receipts WHERE id = ANY($1) AND status <> 'registered'`, [
          ids,
        ]),
      ({ length }) => length === 0,
      DRAIN_MS,
    );
    return (performance.now() - backMs) / 1_000;
  }
}

async function changedAt(system: TestSystem): Promise<string | null> {
  const [row] = await sql<{ changed: string | null }>(
    system.database,
    'SELECT changed_at::text AS changed FROM database_identity',
  );
  return row?.changed ?? null;
}

/** Waits until the comparison has decided what it can, and counts how. */
async function heldAndEnded(system: TestSystem): Promise<Held> {
  const read = async (): Promise<Held & { open: number }> => {
    const [row] = await sql<Held & { open: number }>(
      system.database,
      `SELECT count(*)::int AS held, count(*) FILTER (WHERE status = 'unknown')::int AS open,
              count(*) FILTER (WHERE is_present)::int AS found,
              count(*) FILTER (WHERE status <> 'unknown' AND NOT is_present)::int AS sent,
              count(*) FILTER (WHERE status = 'unknown' AND is_unproven)::int AS person
         FROM (SELECT r.status, bool_or(c.verdict = 'present') IS TRUE AS is_present, bool_or(c.verdict = 'unproven') IS TRUE AS is_unproven
                 FROM restore_checks c JOIN receipts r ON r.id = c.receipt_id JOIN database_identity i ON c.restored_at = i.changed_at
                GROUP BY r.id, r.status) held`,
    );
    if (!row) throw new Error('no counts');
    return row;
  };
  return until('everything held is decided', read, ({ open, person }) => open === person, DRAIN_MS);
}

export const laggingStandby: FaultCase = {
  number: '24',
  name: 'an asynchronous standby lags by 0.1 to 3 s and is promoted under load',
  alias: 'lagging-standby',
  stage: 'lagging',
  full: { receipts: 4_000, strikes: 8 },
  tenth: { receipts: 500, strikes: 2 },
  quick: { receipts: 250, strikes: 1 },
  maxSeconds: 900,
  async run(run) {
    const { system, replica } = run.stage;
    if (!replica) throw new Error('the stage has no server to replicate');
    let first: FirstRegister | null = null;
    const shop = await startMoreRegisters(system, {
      count: REGISTERS,
      profile: { ...IMPATIENT, failoverAfterMs: 300 },
      scopes: ['receipts:write', 'receipts:read'],
      seenAs: async ([own = '', ...others]) => {
        const port = await freePorts(1);
        first = new FirstRegister(port, Number(new URL(own).port));
        await first.connect();
        return [`http://127.0.0.1:${port}`, ...others];
      },
    });
    try {
      if (!first) throw new Error('the first register has no line');
      return await promoteAgainAndAgain(run, replica, shop, first);
    } finally {
      await shop.program.end();
      await (first as FirstRegister | null)?.cut();
    }
  },
};

async function promoteAgainAndAgain(
  run: CaseRun,
  replica: ReplicatedServer,
  shop: MoreRegisters,
  first: FirstRegister,
): ReturnType<FaultCase['run']> {
  const { stage, prefix, chance, size, judgesTimes } = run;
  const { system } = stage;
  const { tills } = shop.merchant;
  await sql(system.database, `UPDATE devices SET profile = profile - 'failoverAfterMs' WHERE id = ANY($1)`, [
    tills.slice(-WITHOUT_FAILOVER).map(({ deviceId }) => deviceId),
  ]);
  const load = new Load(shop.client, { prefix, chance });
  const promotions = new Promotions(run, replica, shop, first, load);
  // A register that was never asked who it is would count as one without keys.
  await Promise.all(tills.map((till) => load.sellOnce(till, 'wait=60')));
  for (let nth = 0; nth < size.strikes; nth += 1) await promotions.strike();
  await load.reaches(size.receipts);
  const sold = await load.end();
  await lanesFinish(system, { tills, drainMs: DRAIN_MS });
  await deliverUnsent(system, tills, []);
  const { rounds } = promotions;
  const books = await readPromotionBooks(system, { client: shop.client, prefix, sold, promotions: rounds });
  // All others are judged as in any other case.
  const apart = new Set([...books.lost, ...books.soldAgain]);
  const judged = { sold: sold.filter((one) => !apart.has(one)), complaints: load.complaints };
  const foreign = new Set([...apart].map(({ marker }) => marker));
  const outOfOrder = await withOtherPlaces(system, sold);
  const verdict = await judge(system, [judged], { prefix, tills, foreign, mayMove: true, outOfOrder });
  const slowestS = Math.max(...rounds.map(({ sellAgainS }) => sellAgainS));
  const failures = [...verdict.failures, ...promotions.failures, ...books.failures];
  if (judgesTimes && slowestS > RECOVERS_WITHIN_S)
    failures.push(`all registers sold again after ${slowestS.toFixed(1)} s, at most ${RECOVERS_WITHIN_S}`);
  return { ...verdict, receipts: sold.length, kills: size.strikes, failures, figures: figuresOf(rounds, books) };
}

/** Moved by failover, or held by a promotion and released after others. */
async function withOtherPlaces(system: TestSystem, sold: readonly Sold[]): Promise<ReadonlySet<string>> {
  const rows = await sql<{ id: string }>(
    system.database,
    `SELECT id FROM receipts r WHERE id = ANY($1)
        AND (moved_from IS NOT NULL OR EXISTS (SELECT FROM restore_checks c WHERE c.receipt_id = r.id))`,
    [sold.map(({ answer }) => answer.body.id ?? '')],
  );
  const ids = new Set(rows.map(({ id }) => id));
  return new Set(sold.filter(({ answer }) => ids.has(answer.body.id ?? '')).map(({ marker }) => marker));
}

function figuresOf(rounds: readonly Round[], books: Awaited<ReturnType<typeof readPromotionBooks>>): string[] {
  const sum = (key: keyof Held): number => rounds.reduce((total, round) => total + round[key], 0);
  const { lost, lostWithDocument, soldAgain, repeated, orphans } = books;
  const inRound = (sold: readonly { answeredMs: number }[], nth: number): number =>
    sold.filter(
      ({ answeredMs }) =>
        answeredMs >= (rounds[nth]?.cutMs ?? 0) && answeredMs < (rounds[nth + 1]?.cutMs ?? Number.POSITIVE_INFINITY),
    ).length;
  return [
    `answered 2xx and unknown afterwards: ${lost.length}, of which registers have ${lostWithDocument.length}`,
    `sold again by a repeated call: ${soldAgain.length} of ${repeated} repeated`,
    `documents that the database does not know: ${orphans.length}`,
    `held: ${sum('held')}, of which sent ${sum('sent')}, found in a journal ${sum('found')}, left to a person ${sum('person')}`,
    ...rounds.map(
      (round, nth) =>
        `lag ${(round.lagMs / 1_000).toFixed(1)} s: ${inRound(lost, nth)} unknown, ${inRound(soldAgain, nth)} sold again, ` +
        `${round.held} held (${round.found} found), all sell again after ${round.sellAgainS.toFixed(1)} s`,
    ),
  ];
}
