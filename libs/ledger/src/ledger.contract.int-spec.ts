// Promise: each verb of the ledger moves a receipt out of the states that the table of moves names, announces it, and changes nothing else.
import pg from 'pg';
import { PrismaService } from '#database';
import type { Baseline, ReceiptStatus, Registration } from '#fiscal-domain';
import { createTestDatabase, sampleDocument, type TestDatabase } from '../../database/src/testing/index.js';
import * as ledger from './index.js';
import { ledgerContract, SITUATIONS, type Situation, type Subject, type Verb } from './testing/ledger-contract.js';

const DEVICE = 'dev_1';
const TERMINAL = 'UZ000000000001';
const BASELINE: Baseline = { terminalId: TERMINAL, journalId: null, sequence: 40, reading: null };
const REJECTION = { code: 'E-013' as const, rule: null, detail: 'no', line: null };
const AT = new Date('2026-11-22T10:00:00Z');
const FISCAL = { terminalId: TERMINAL, receiptSeq: 41, fiscalSign: '123456789012' };
const REGISTRATION: Registration = {
  ...FISCAL,
  ...{ verificationUrl: 'https://ofd.example/41', transactionTimeMs: AT.getTime(), ofdSent: false, ofdError: null },
  ...{ recordedFields: [], shiftNumber: null },
};

let database: TestDatabase;
let owner: pg.Client;
let session: pg.Client;
let prisma: PrismaService;
let writes: ledger.LaneWrites;
let lock: ledger.LaneLock;
let count = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  prisma = new PrismaService({ url: database.url, poolSize: 2, applicationName: 'test', lockTimeoutMs: 2_000 });
  writes = new ledger.LaneWrites(prisma, 'rly_1');
  await owner.query(`
    INSERT INTO merchants (id, code, name, tin) VALUES ('mer_1', 'shop', 'Shop', '123456789');
    INSERT INTO branches (id, merchant_id, code, name) VALUES ('brn_1', 'mer_1', 'main', 'Main');
    INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed, terminal_id)
    VALUES ('${DEVICE}', 'mer_1', 'brn_1', 'Till', 'http://127.0.0.1:1', '\\x00', '${TERMINAL}');
    INSERT INTO lanes (device_id) VALUES ('${DEVICE}')`);
  session = new pg.Client({ connectionString: database.url });
  await session.connect();
  const { rows } = await session.query<{ n: number; pid: number; started: string }>(
    `SELECT lock_number AS n, pg_backend_pid() AS pid, pg_postmaster_start_time()::text AS started FROM lanes`,
  );
  const [held] = rows;
  if (!held) throw new Error('the lane is missing');
  lock = { lockNumber: held.n, backendPid: held.pid, serverStartedAt: held.started };
  await session.query('SELECT pg_advisory_lock($1, $2)', [ledger.LANE_LOCK_SPACE, held.n]);
});
afterAll(async () => {
  await session?.end();
  await prisma?.$disconnect();
  await owner?.end();
  await database?.drop();
});

const ATTEMPT_OF: Partial<Record<Situation, [state: string, outcome: string | null]>> = {
  accepted_again: ['not_registered', '{"resolution": {}}'],
  sending: ['open', null],
  unknown: ['unknown', '{}'],
  registered: ['registered', '{}'],
  rejected: ['rejected', '{}'],
};

async function createIn(situation: Situation, journalId: string | null = null): Promise<Subject> {
  count += 1;
  const subject = { receiptId: `rcp_${count}`, attemptId: `att_${count}` };
  const isFiscal = situation === 'registered';
  await owner.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, document,
                           total_tiyin, vat_total_tiyin, terminal_id, receipt_seq, registered_at)
     VALUES ($1, 'mer_1', 'cli_1', 'receipts', '\\x00', 'sale', $2, CASE WHEN $3 THEN NULL ELSE nextval('lane_place_seq') END,
             CASE WHEN $3 THEN NULL ELSE '${DEVICE}' END, $4, 1, 0, $5, $6, $7)`,
    [
      ...[
        subject.receiptId,
        SITUATIONS[situation],
        situation === 'awaiting_provider',
        JSON.stringify(sampleDocument()),
      ],
      ...(isFiscal ? ['UZ000000000009', 9, AT] : [null, null, null]),
    ],
  );
  const [state, outcome] = ATTEMPT_OF[situation] ?? [];
  if (state !== undefined)
    await owner.query(
      `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, outcome)
       VALUES ($1, $2, '${DEVICE}', 1, $3, $5, '\\x00', 'rly_1', $4)`,
      [subject.attemptId, subject.receiptId, state, outcome, JSON.stringify({ journalId })],
    );
  return subject;
}

const VERB: Record<Verb, (subject: Subject) => Promise<unknown>> = {
  release: ({ receiptId }) => ledger.releaseReceipt(prisma, receiptId, { dispatchBefore: null, extraInfo: null }),
  registerByProvider: ({ receiptId }) =>
    ledger.registerByProvider(prisma, receiptId, 'sale', { ...FISCAL, url: 'https://ofd.example', registeredAt: AT }),
  cancelReceipt: ({ receiptId }) => ledger.cancelReceipt(prisma, { merchantId: 'mer_1', receiptId, reason: 'a test' }),
  cancelUnpaid: ({ receiptId }) => ledger.cancelUnpaid(prisma, receiptId, 'a test'),
  openAttempt: ({ receiptId, attemptId }) =>
    writes.openAttempt({
      ...{ attemptId: `${attemptId}b`, receiptId, deviceId: DEVICE, baseline: BASELINE, laneLock: lock },
      request: Buffer.from('bytes'),
    }),
  rejectUnsent: ({ receiptId }) => ledger.rejectUnsent(prisma, { receiptId, deviceId: DEVICE }, REJECTION),
  closeRegistered: ({ receiptId, attemptId }) =>
    writes.closeRegistered({
      ...{ attemptId, receiptId, deviceId: DEVICE, registration: REGISTRATION, evidence: 'answer', lastKnown: null },
      baseline: BASELINE,
    }),
  closeAndOpen: async ({ receiptId, attemptId }) => {
    const next = await createIn('accepted');
    const close = { attemptId, receiptId, deviceId: DEVICE, registration: REGISTRATION, baseline: BASELINE };
    const intent = { ...next, attemptId: `${next.attemptId}n`, deviceId: DEVICE, baseline: BASELINE, laneLock: lock };
    return writes.closeAndOpen(
      { ...close, evidence: 'answer', lastKnown: null },
      { ...intent, request: Buffer.from('bytes') },
    );
  },
  closeRejected: (subject) => ledger.closeRejected(prisma, subject, { rejection: REJECTION, evidence: {} }, lock),
  closeNotRegistered: (subject) => ledger.closeNotRegistered(prisma, subject, {}, lock),
  closeUnknown: (subject) => ledger.closeUnknown(prisma, subject, { why: 'a test' }, { mustSettle: false }),
  recordLateAnswer: ({ receiptId }) =>
    ledger.recordLateAnswer(prisma, { receiptId, deviceId: DEVICE, registration: REGISTRATION }),
  parkAttempt: ({ receiptId, attemptId }) => {
    const attempt = { id: attemptId, receiptId, deviceId: DEVICE };
    return prisma.$transaction((tx) =>
      ledger.parkAttempt(tx, attempt, { evidence: { why: 'a test' }, mustSettle: false }),
    );
  },
  parkAttemptsOfTerminal: () => prisma.$transaction((tx) => ledger.parkAttemptsOfTerminal(tx, TERMINAL, 'a test')),
  holdCopied: ({ receiptId, attemptId }) =>
    prisma.$transaction(async (tx) => {
      const run: ledger.RunStatement = (statement) => tx.$queryRaw(statement);
      const [row] = await tx.$queryRaw<
        { status: ReceiptStatus }[]
      >`SELECT status FROM receipts WHERE id = ${receiptId}`;
      // As its caller reads them: what waits and what is being sent, the latter with its open attempt.
      if (row?.status !== 'accepted' && row?.status !== 'sending') return;
      const isOpen = row.status === 'sending';
      await ledger.holdCopied(run, [{ receiptId, attemptId: isOpen ? attemptId : `${attemptId}h`, isOpen }]);
    }),
  holdBackUnproven: () => prisma.$transaction((tx) => ledger.holdBackUnproven(tx, DEVICE, 'a test')),
  sendAgain: async ({ receiptId, attemptId }) => {
    const resolution = { decision: 'not_registered' };
    if (await ledger.closeParked(prisma, attemptId, { state: 'not_registered', resolution })) {
      await ledger.sendAgain(prisma, receiptId);
      await ledger.writeReceiptEvent(prisma, receiptId, 'accepted', {});
    }
  },
  rejectUnregistered: async ({ receiptId, attemptId }) => {
    const rejection = { code: 'receipt_refused', rule: null, detail: 'gone', line: null };
    await ledger.closeParked(prisma, attemptId, { state: 'not_registered', resolution: {} });
    if (await ledger.rejectUnregistered(prisma, receiptId, rejection))
      await ledger.writeReceiptEvent(prisma, receiptId, 'rejected', { rejection });
  },
  registerByOperator: async ({ receiptId, attemptId }) => {
    const named = { ...FISCAL, verificationUrl: null, registeredAt: AT };
    if (await ledger.closeParked(prisma, attemptId, { state: 'registered', resolution: {} })) {
      await ledger.registerByOperator(prisma, { receiptId, deviceId: DEVICE }, named);
      await ledger.writeReceiptEvent(prisma, receiptId, 'registered', {});
    }
  },
  releaseCompared: ({ attemptId }) => ledger.releaseCompared(prisma, [attemptId]),
};

ledgerContract({
  begin: async () => {
    await owner.query(
      'DELETE FROM attempts; DELETE FROM receipts; DELETE FROM events; UPDATE lanes SET must_settle = false',
    );
  },
  end: () => Promise.resolve(),
  createIn,
  apply: async (verb, subject) => {
    await VERB[verb](subject);
  },
  statusOf: async (id) => {
    const { rows } = await owner.query<{ status: ReceiptStatus }>('SELECT status FROM receipts WHERE id = $1', [id]);
    return rows[0]!.status;
  },
  mustSettle: async () => {
    const { rows } = await owner.query<{ must_settle: boolean }>('SELECT must_settle FROM lanes');
    return rows[0]!.must_settle;
  },
  eventsOf: async (id) => {
    const { rows } = await owner.query<{ type: string }>(
      'SELECT type FROM events WHERE subject_id = $1 ORDER BY position',
      [id],
    );
    return rows.map(({ type }) => type);
  },
});
