// Promise: what several lanes write in one statement is what each would have written by itself, and no lane waits long for another's.
import pg from 'pg';
import { PrismaService, type Prisma } from '#database';
import type { Registration } from '#fiscal-domain';
import { LaneWrites, type ClosedAndOpened, type CloseRegistered, type Intent } from '#ledger';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';
import { lineTo } from '../../../../test/system/tcp-proxy.js';
import { Chance } from './simulation/testing/chance.js';
import { countGroups } from './testing/count-groups.js';
import { BASELINE, LaneRows } from './testing/lane-rows.js';

const LANES = 12;
const REGISTRATION: Registration = {
  ...{ terminalId: 'UZ1', receiptSeq: 0, fiscalSign: '"sign\\', verificationUrl: 'https://ofd.example/ў' },
  ...{ transactionTimeMs: Date.UTC(2026, 0, 5, 1, 2, 3, 4), ofdSent: false, ofdError: null },
  ...{ recordedFields: ['commission', 'customer'], shiftNumber: 7 },
};

/** Two databases in which the same has happened. */
let together: LaneRows;
let alone: LaneRows;
/** Statements of several lanes in both. */
let groups: () => number;

beforeAll(async () => {
  [together, alone] = [await LaneRows.start(), await LaneRows.start()];
  const [inOne, inOther] = [countGroups(together.prisma), countGroups(alone.prisma)];
  groups = () => inOne() + inOther();
});
afterAll(async () => {
  await together?.stop();
  await alone?.stop();
});

type Answer = string | ClosedAndOpened;
/** @returns what the lane then writes */
type Prepare = (rows: LaneRows, lane: number) => Promise<(writes: LaneWrites) => Promise<Answer>>;

const deviceOf = (lane: number): string => `dev_${lane + 10}`;

async function intentOf(rows: LaneRows, lane: number, receiptId: string): Promise<Intent> {
  const deviceId = deviceOf(lane);
  const { started } = await rows.one<{ started: string }>('SELECT pg_postmaster_start_time()::text AS started');
  const laneLock = { lockNumber: lane, backendPid: 1, serverStartedAt: started };
  return { ...rows.intent(receiptId), deviceId, laneLock, baseline: { ...BASELINE, terminalId: `UZ${lane}` } };
}

type Opened = Pick<Intent, 'attemptId' | 'receiptId'>;

function closeOf(lane: number, { attemptId, receiptId }: Opened, more: Partial<Registration> = {}): CloseRegistered {
  const registration = { ...REGISTRATION, terminalId: `UZ${lane}`, receiptSeq: lane + 1, ...more };
  const baseline = { ...BASELINE, sequence: lane + 1, journalId: 'jrn_1' };
  const attempt = { attemptId, receiptId, deviceId: deviceOf(lane) };
  return { ...attempt, registration, evidence: 'answer', baseline, lastKnown: null };
}

/** Of a receipt that is being sent. */
async function openAttempt(rows: LaneRows, lane: number): Promise<Opened> {
  const intent = await intentOf(rows, lane, await rows.createReceipt({ deviceId: deviceOf(lane) }));
  const opened = await new LaneWrites(rows.prisma, 'rly_before').openAttempt(intent);
  if (opened !== 'opened') throw new Error(`the lane is not free: ${opened}`);
  return intent;
}

/** A receipt that may be sent or not, and why. */
const NEXT: Record<string, (rows: LaneRows, lane: number) => Promise<Intent>> = {
  'may be sent': async (rows, lane) =>
    intentOf(rows, lane, await rows.createReceipt({ deviceId: deviceOf(lane), dispatchInS: 600 })),
  'was cancelled': async (rows, lane) =>
    intentOf(rows, lane, await rows.createReceipt({ deviceId: deviceOf(lane), status: 'cancelled' })),
  'has a hold that ran out': async (rows, lane) =>
    intentOf(rows, lane, await rows.createReceipt({ deviceId: deviceOf(lane), dispatchInS: -1 })),
  'stands behind another': async (rows, lane) => {
    await rows.createReceipt({ deviceId: deviceOf(lane) });
    return intentOf(rows, lane, await rows.createReceipt({ deviceId: deviceOf(lane) }));
  },
  'is of another device': async (rows, lane) => intentOf(rows, lane, await rows.createReceipt()),
  'is not there': (rows, lane) => intentOf(rows, lane, `rcp_none_${lane}`),
  'was sold by another module': async (rows, lane) => {
    const intent = await intentOf(rows, lane, await rows.createReceipt({ deviceId: deviceOf(lane) }));
    await rows.sql.query(
      `UPDATE receipts SET type = 'refund', document = document || '{"refundInfo": {"terminalId": "UZ_gone"}}' WHERE id = $1`,
      [intent.receiptId],
    );
    return intent;
  },
  'is of a terminal of another merchant': async (rows, lane) => {
    const intent = await intentOf(rows, lane, await rows.createReceipt({ deviceId: deviceOf(lane) }));
    return { ...intent, baseline: { ...BASELINE, terminalId: 'UZ_theirs' } };
  },
  'would be sent by a server that is gone': async (rows, lane) => {
    const intent = await intentOf(rows, lane, await rows.createReceipt({ deviceId: deviceOf(lane) }));
    return { ...intent, laneLock: { ...intent.laneLock, serverStartedAt: '2020-01-01T00:00:00Z' } };
  },
};

/** A result that can be recorded or not. */
const RESULT: Record<string, (rows: LaneRows, lane: number) => Promise<CloseRegistered>> = {
  'is new': async (rows, lane) => closeOf(lane, await openAttempt(rows, lane)),
  'was sent to the OFD': async (rows, lane) =>
    closeOf(lane, await openAttempt(rows, lane), {
      ofdSent: true,
      ofdError: 'T-001',
      recordedFields: [],
      shiftNumber: null,
    }),
  'has odd values': async (rows, lane) =>
    closeOf(lane, await openAttempt(rows, lane), {
      ...{
        fiscalSign: `'"\\ \n\t\u2028 \ufeff😀`,
        verificationUrl: null,
        ofdError: '{"a":[null]}',
        shiftNumber: 2 ** 31 - 1,
      },
      ...{
        receiptSeq: Number.MAX_SAFE_INTEGER - lane,
        transactionTimeMs: Date.UTC(9999, 11, 31) + lane,
        recordedFields: ['owner' as never],
      },
    }),
  'is of the first second': async (rows, lane) =>
    closeOf(lane, await openAttempt(rows, lane), { transactionTimeMs: 1, fiscalSign: null, ofdError: '' }),
  'was recorded before': async (rows, lane) => {
    const close = closeOf(lane, await openAttempt(rows, lane));
    await new LaneWrites(rows.prisma, 'rly_before').closeRegistered(close);
    return close;
  },
};
/** What the database refuses, and with it the whole of a group. */
const REFUSED: Record<string, Prepare> = {
  'a sequence that another receipt has': async (rows, lane) => {
    await new LaneWrites(rows.prisma, 'rly_before').closeRegistered(closeOf(lane, await openAttempt(rows, lane)));
    const close = closeOf(lane, await openAttempt(rows, lane));
    return (writes) => writes.closeRegistered(close);
  },
  'the same with a next receipt': async (rows, lane) => {
    await new LaneWrites(rows.prisma, 'rly_before').closeRegistered(closeOf(lane, await openAttempt(rows, lane)));
    const [close, next] = [closeOf(lane, await openAttempt(rows, lane)), await NEXT['may be sent']!(rows, lane)];
    return (writes) => writes.closeAndOpen(close, next);
  },
  'a lane with an open attempt': async (rows, lane) => {
    await openAttempt(rows, lane);
    const next = await NEXT['may be sent']!(rows, lane);
    return (writes) => writes.openAttempt(next);
  },
};

function writingOf(chance: Chance): Prepare {
  const result = RESULT[chance.pick(Object.keys(RESULT))]!;
  const intent = NEXT[chance.pick(Object.keys(NEXT))]!;
  const kind = chance.pick(['result', 'intent', 'both', 'both']);
  return async (rows, lane) => {
    const close = kind === 'intent' ? null : await result(rows, lane);
    const next = kind === 'result' ? null : await intent(rows, lane);
    if (close && next) return (writes) => writes.closeAndOpen(close, next);
    if (close) return (writes) => writes.closeRegistered(close);
    if (next) return (writes) => writes.openAttempt(next);
    throw new Error('nothing to write');
  };
}

async function begin(rows: LaneRows): Promise<void> {
  await rows.clear();
  await rows.sql.query('DELETE FROM terminals');
  for (let lane = 0; lane < LANES; lane += 1) await rows.createDevice(deviceOf(lane));
  await rows.sql.query(
    `INSERT INTO merchants (id, code, name, tin) VALUES ('mer_2', 'other', 'Other', '987654321') ON CONFLICT DO NOTHING`,
  );
  await rows.sql.query(`INSERT INTO terminals (terminal_id, merchant_id) VALUES ('UZ_theirs', 'mer_2')`);
}

/** All that may have changed, but for ids that are drawn and for times. */
async function worldOf(rows: LaneRows): Promise<unknown> {
  const world = await rows.one<{ world: unknown }>(`
    SELECT jsonb_build_array(
      (SELECT jsonb_agg(to_jsonb(r) - '{created_at,updated_at,dispatch_before,lane_place,ofd_sent_at}'::text[]
                        || jsonb_build_object('is_sent', ofd_sent_at IS NOT NULL) ORDER BY id) FROM receipts r),
      (SELECT jsonb_agg(to_jsonb(a) - '{created_at,closed_at}'::text[] || jsonb_build_object('is_closed', closed_at IS NOT NULL) ORDER BY id)
         FROM attempts a),
      (SELECT jsonb_agg(to_jsonb(l) - '{updated_at,lock_number}'::text[] ORDER BY device_id) FROM lanes l),
      (SELECT jsonb_agg(jsonb_build_array(type, subject_id, data, merchant_id) ORDER BY subject_id, type) FROM events)) AS world`);
  return world.world;
}

describe.each(Array.from({ length: 12 }, (_, seed) => seed))('what lanes write, seed %i', (seed) => {
  test('is the same together as by each alone', async () => {
    const chance = new Chance(seed);
    const writings = Array.from({ length: LANES }, () => writingOf(chance));
    // In every third group one that the database refuses.
    const isOneRefused = seed % 3 === 0;
    if (isOneRefused) writings[Math.floor(chance.between(0, LANES))] = REFUSED[chance.pick(Object.keys(REFUSED))]!;
    const answers: Answer[][] = [];
    for (const rows of [together, alone]) {
      await begin(rows);
      const prepared: ((writes: LaneWrites) => Promise<Answer>)[] = [];
      for (const [lane, prepare] of writings.entries()) prepared.push(await prepare(rows, lane));
      const [before, writes] = [groups(), new LaneWrites(rows.prisma, 'rly_ours')];
      const all: Answer[] = [];
      if (rows === together) all.push(...(await Promise.all(prepared.map((write) => write(writes)))));
      else for (const write of prepared) all.push(await write(writes));
      answers.push(all);
      // What the database refuses is written by each alone, and would be the same for that reason.
      expect(groups() - before).toBe(rows === together && !isOneRefused ? 1 : 0);
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(await worldOf(together)).toEqual(await worldOf(alone));
  });
});

describe('a group', () => {
  /** Its statements wait for a lock for longer than the test would. */
  let patient: PrismaService;

  beforeAll(() => {
    const patience = { lockTimeoutMs: 120_000, statementTimeoutMs: 180_000 };
    patient = new PrismaService({ url: together.database.url, poolSize: 6, applicationName: 'patient', ...patience });
  });
  afterAll(() => patient?.$disconnect());
  beforeEach(() => begin(together));

  test('is one transaction, and gives how long each receipt has waited', async () => {
    const seconds: number[] = [];
    const writes = new LaneWrites(together.prisma, 'rly_ours', (each) => seconds.push(each));
    const pairs = [];
    for (let lane = 0; lane < 3; lane += 1)
      pairs.push([await RESULT['is new']!(together, lane), await NEXT['may be sent']!(together, lane)] as const);
    const answers = await Promise.all(pairs.map(([close, next]) => writes.closeAndOpen(close, next)));
    expect(answers).toEqual(pairs.map(() => ({ closed: 'closed', opened: 'opened' })));
    const ids = pairs.flatMap(([close, next]) => [close.attemptId, next.attemptId]);
    const { transactions } = await together.one<{ transactions: number }>(
      'SELECT count(DISTINCT xmin::text)::int AS transactions FROM attempts WHERE id = ANY($1)',
      ids,
    );
    expect(transactions).toBe(1);
    const { receipt_id: receiptId } = await together.attempt(ids[0]!);
    expect(await together.receipt(String(receiptId))).toMatchObject({
      registered_at: new Date('2026-01-05T01:02:03.004Z'),
      ofd_deadline_at: new Date('2026-01-07T01:02:03.004Z'),
    });
    expect(seconds).toHaveLength(3);
    for (const each of seconds) expect(each).toBeGreaterThanOrEqual(0);
  });

  test('with one result twice records it once, and the other one hears so', async () => {
    const [before, writes] = [groups(), new LaneWrites(together.prisma, 'rly_ours')];
    const close = await RESULT['is new']!(together, 0);
    const other = await RESULT['is new']!(together, 1);
    const answers = await Promise.all([close, other, close].map((each) => writes.closeRegistered(each)));
    expect([answers.sort(), groups() - before]).toEqual([['already_closed', 'closed', 'closed'], 1]);
    expect(await together.events()).toEqual(['receipt.registered', 'receipt.registered']);
  });

  test('does without a lane that was refused, for a minute; a large answer is never in one', async () => {
    let nowMs = 0;
    const writes = new LaneWrites(together.prisma, 'rly_ours', undefined, () => nowMs);
    const before = groups();
    const [refused, ...others] = [
      await REFUSED['a sequence that another receipt has']!(together, 0),
      await RESULT['is new']!(together, 1),
      await RESULT['is new']!(together, 2),
    ];
    const first = await Promise.all([refused(writes), writes.closeRegistered(others[0])]);
    expect([first, groups() - before]).toEqual([['sequence_taken', 'closed'], 0]);
    const large = await RESULT['is new']!(together, 3);
    const closes = [
      others[1],
      await RESULT['is new']!(together, 4),
      { ...large, registration: { ...large.registration, verificationUrl: 'x'.repeat(2_000_000) } },
    ];
    const second = await Promise.all([refused(writes), ...closes.map((close) => writes.closeRegistered(close))]);
    expect([second, groups() - before]).toEqual([['sequence_taken', 'closed', 'closed', 'closed'], 1]);
    nowMs += 60_000;
    const two = [await RESULT['is new']!(together, 5), await RESULT['is new']!(together, 6)];
    const third = await Promise.all([refused(writes), ...two.map((close) => writes.closeRegistered(close))]);
    // It was in the group of all three, which was refused for its sake.
    expect([third, groups() - before]).toEqual([['sequence_taken', 'closed', 'closed'], 1]);
  });

  /** Locks a row while `during` runs. */
  async function whileLocked(sql: string, id: string, during: () => Promise<void>): Promise<void> {
    const holder = new pg.Client({ connectionString: together.database.ownerUrl });
    await holder.connect();
    try {
      await holder.query('BEGIN');
      await holder.query(`SELECT FROM ${sql} FOR UPDATE`, [id]);
      await during();
    } finally {
      await holder.end();
    }
  }

  test.each([
    ['attempts', 'attempts WHERE id = $1'],
    ['receipts', 'receipts WHERE id = (SELECT receipt_id FROM attempts WHERE id = $1)'],
    ['lanes', 'lanes WHERE device_id = (SELECT device_id FROM attempts WHERE id = $1)'],
  ])('does not wait for one whose row of %s is locked: the others are recorded meanwhile', async (_table, row) => {
    const closes: CloseRegistered[] = [];
    for (let lane = 0; lane < 4; lane += 1) closes.push(await RESULT['is new']!(together, lane));
    const locked = closes[2]!.attemptId;
    const ended: string[] = [];
    const writes = new LaneWrites(patient, 'rly_ours');
    let all: Promise<string[]> = Promise.resolve([]);
    await whileLocked(row, locked, async () => {
      const write = async (close: CloseRegistered): Promise<string> => {
        const closed = await writes.closeRegistered(close);
        ended.push(close.attemptId);
        return closed;
      };
      all = Promise.all(closes.map(write));
      await untilTrue(() => ended.length === 3, 'the others are recorded', 60_000);
      expect(ended).not.toContain(locked);
    });
    expect(await all).toEqual(closes.map(() => 'closed'));
  });

  test('leaves an intent whose receipt is locked to its own statement, which waits for it', async () => {
    const close = await RESULT['is new']!(together, 0);
    const next = await NEXT['may be sent']!(together, 1);
    const writes = new LaneWrites(patient, 'rly_ours');
    let opened: Promise<string> = Promise.resolve('');
    await whileLocked('receipts WHERE id = $1', next.receiptId, async () => {
      opened = writes.openAttempt(next);
      expect(await writes.closeRegistered(close)).toBe('closed');
    });
    expect(await opened).toBe('opened');
  });

  test('whose answer is lost after its commit fails for each of its lanes, and is found by the next try', async () => {
    const pairs: [close: CloseRegistered, next: Intent][] = [];
    for (const lane of [0, 1])
      pairs.push([await RESULT['is new']!(together, lane), await NEXT['may be sent']!(together, lane)]);
    const { prisma } = together;
    let isLost = true;
    const losing = {
      queryHot: async <Row>(statement: Prisma.Sql): Promise<Row[]> => {
        const rows = await prisma.queryHot<Row>(statement);
        if (isLost) throw new Error('Connection terminated unexpectedly');
        return rows;
      },
    };
    const [before, writes] = [groups(), new LaneWrites(losing, 'rly_ours')];
    const both = (): Promise<PromiseSettledResult<ClosedAndOpened>[]> =>
      Promise.allSettled(pairs.map(([close, next]) => writes.closeAndOpen(close, next)));
    expect((await both()).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    isLost = false;
    for (const [close, next] of pairs) {
      expect(await together.attempt(close.attemptId)).toMatchObject({ state: 'registered' });
      expect(await together.attempt(next.attemptId)).toMatchObject({ state: 'open', receipt_id: next.receiptId });
    }
    const found = { closed: 'already_closed', opened: null };
    expect(await both()).toEqual(pairs.map(() => ({ status: 'fulfilled', value: found })));
    expect(groups() - before).toBe(2);
    expect(await together.events()).toEqual(['receipt.registered', 'receipt.registered']);
  });

  test('whose connection has gone silent holds up the lanes that are not in it for a moment', async () => {
    const [first, behind] = [await RESULT['is new']!(together, 0), await RESULT['is new']!(together, 1)];
    const { line: proxy, url } = await lineTo(together.database.url);
    // It is noticed by the program after longer than the test would take.
    const patience = { lockTimeoutMs: 120_000, statementTimeoutMs: 180_000 };
    const silent = new PrismaService({ url: url.href, poolSize: 2, applicationName: 'silent', ...patience });
    try {
      await silent.$queryRaw`SELECT 1`;
      proxy.deafen();
      const writes = new LaneWrites(silent, 'rly_ours');
      const unanswered = writes.closeRegistered(first).catch(() => 'lost');
      await untilTrue(() => silent.connections.busy === 1, 'its statement is on its way');
      expect(await writes.closeRegistered(behind)).toBe('closed');
      await proxy.close();
      expect(await unanswered).toBe('lost');
    } finally {
      await proxy.close();
      await silent.$disconnect();
    }
  });

  test('of a database that is away fails as a whole, and nothing is written', async () => {
    const closes = [await RESULT['is new']!(together, 0), await RESULT['is new']!(together, 1)];
    const before = await worldOf(together);
    // Where nothing listens.
    const away = new PrismaService({
      ...{ url: 'postgres://app@127.0.0.1:1/none', poolSize: 1, applicationName: 'test', lockTimeoutMs: 1_000 },
    });
    const writes = new LaneWrites(away, 'rly_ours');
    const settled = await Promise.allSettled(closes.map((close) => writes.closeRegistered(close)));
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await away.$disconnect();
    expect(await worldOf(together)).toEqual(before);
  });
});
