import pg from 'pg';
import { PrismaService, type StoredReceiptDocument } from '#database';
import type { Baseline } from '#fiscal-domain';
import { LANE_LOCK_SPACE, type Intent } from '#ledger';
import { firstIdAt } from '#runtime';
import { untilTrue } from '../../../../../libs/runtime/src/testing/until.js';
import { LaneRepository } from '../lane.repository.js';
import type { LaneLockHandle } from '../ports.js';
import { documentOf } from '../simulation/testing/documents.js';
import { Chance } from '../simulation/testing/chance.js';
import { createTestDatabase, type TestDatabase } from '../../../../../libs/database/src/testing/index.js';

export const BASELINE: Baseline = { terminalId: 'UZ1', journalId: null, sequence: 40, reading: null };

interface ReceiptFields {
  /** Unless given, of one half-year and in the order of creation. */
  id?: string;
  deviceId?: string;
  status?: string;
  /** Unless given, one of a sale. */
  document?: StoredReceiptDocument;
  /** From now. */
  dispatchInS?: number;
  /** In a transaction of the caller's. */
  over?: pg.Client;
}

/** Of one half-year, as ids of ours are, in the order of what follows the time. */
export const receiptIdOf = (rest: string): string => `${firstIdAt('rcp', new Date('2026-02-01'))}${rest}`;

/** A merchant with one device and what a test needs around it, on a database of its own; direct SQL beside the programs. */
export class LaneRows {
  readonly deviceId = 'dev_1';
  readonly ours: LaneRepository;
  readonly others: LaneRepository;
  /** Of `session`, which holds the lane lock of the device for `ours`. */
  laneLock: LaneLockHandle = {
    lockNumber: 0,
    backendPid: 0,
    serverStartedAt: '',
    isHeld: () => true,
    release: () => Promise.resolve(),
    releaseAndAsk: () => Promise.resolve(null),
  };
  session: pg.Client;
  readonly prisma: PrismaService;
  private receipts = 0;
  private attempts = 0;
  private readonly intended = new Map<string, string>();

  private constructor(
    readonly database: TestDatabase,
    readonly sql: pg.Client,
  ) {
    const { url } = database;
    this.prisma = new PrismaService({ url, poolSize: 4, applicationName: 'test', lockTimeoutMs: 2_000 });
    this.ours = new LaneRepository(this.prisma, 'rly_ours');
    this.others = new LaneRepository(this.prisma, 'rly_others');
    this.session = sql;
  }

  /** @param create where the database is; default: on the server that all tests share */
  static async start(create: () => Promise<TestDatabase> = createTestDatabase): Promise<LaneRows> {
    const database = await create();
    const sql = new pg.Client({ connectionString: database.ownerUrl });
    await sql.connect();
    const rows = new LaneRows(database, sql);
    await sql.query(`INSERT INTO merchants (id, code, name, tin) VALUES ('mer_1', 'shop', 'Shop', '123456789')`);
    await sql.query(`INSERT INTO branches (id, merchant_id, code, name) VALUES ('brn_1', 'mer_1', 'main', 'Main')`);
    await rows.createDevice(rows.deviceId);
    rows.laneLock = { ...rows.laneLock, serverStartedAt: await rows.serverStartedAt() };
    return rows;
  }

  /** A new session takes the lane lock. */
  async holdLane(): Promise<void> {
    this.session = new pg.Client({ connectionString: this.database.url });
    await this.session.connect();
    const lockNumber = (await this.ours.lockNumberOf(this.deviceId)) ?? 0;
    await this.session.query('SELECT pg_advisory_lock($1, $2)', [LANE_LOCK_SPACE, lockNumber]);
    const serverStartedAt = await this.serverStartedAt();
    this.laneLock = { ...this.laneLock, lockNumber, serverStartedAt, backendPid: await backendPidOf(this.session) };
  }

  private async serverStartedAt(): Promise<string> {
    return (await this.one<{ started: string }>('SELECT pg_postmaster_start_time()::text AS started')).started;
  }

  async stop(): Promise<void> {
    await this.prisma.$disconnect();
    await this.sql.end();
    await this.database.drop();
  }

  /** Another merchant: `mer_x` with the branch `brn_x`. */
  async createMerchant(name: string, tin: string): Promise<void> {
    await this.sql.query('INSERT INTO merchants (id, code, name, tin) VALUES ($1, $2, $2, $3)', [
      `mer_${name}`,
      `shop-${name}`,
      tin,
    ]);
    await this.sql.query(`INSERT INTO branches (id, merchant_id, code, name) VALUES ($1, $2, 'main', 'Main')`, [
      `brn_${name}`,
      `mer_${name}`,
    ]);
  }

  async createDevice(id: string, merchant = '1'): Promise<void> {
    await this.sql.query(
      `INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed, profile)
       VALUES ($1, $2, $3, 'Till', 'http://127.0.0.1:1', '\\x00', '{"sharing": "exclusive"}')`,
      [id, `mer_${merchant}`, `brn_${merchant}`],
    );
    await this.sql.query('INSERT INTO lanes (device_id) VALUES ($1)', [id]);
  }

  /** Everything that happened is forgotten; device and lane are as they were at first. */
  async clear(): Promise<void> {
    await this.sql.query('DELETE FROM attempts; DELETE FROM receipts; DELETE FROM events');
    await this.sql.query(`DELETE FROM lanes WHERE device_id <> 'dev_1'; DELETE FROM devices WHERE id <> 'dev_1'`);
    await this.sql.query(
      `UPDATE lanes SET due_at = NULL, due_reason = NULL, failures = 0, baseline = NULL, last_known = NULL,
                        calibration = NULL, must_settle = false, settling_relay = NULL, settle_until = NULL`,
    );
    await this.sql.query(
      `UPDATE devices SET state = 'online', state_reason = NULL, terminal_id = NULL, journal_id = NULL,
                          capabilities = '{}', profile = '{"sharing": "exclusive"}'`,
    );
  }

  /** @returns its id; places follow the order of creation */
  async createReceipt({
    id: given,
    deviceId = this.deviceId,
    status = 'accepted',
    document,
    dispatchInS,
    over = this.sql,
  }: ReceiptFields = {}): Promise<string> {
    this.receipts += 1;
    const id = given ?? receiptIdOf(`2${String(this.receipts).padStart(15, '0')}`);
    await over.query(
      `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, document,
                             total_tiyin, vat_total_tiyin, dispatch_before)
       VALUES ($1, (SELECT merchant_id FROM devices WHERE id = $3), 'cli_1', 'receipts', '\\x00', $6, $2,
               nextval('lane_place_seq'), $3, $4, 1, 0, now() + make_interval(secs => $5))`,
      [
        ...[id, status, deviceId, JSON.stringify(document ?? documentOf(id, new Chance(this.receipts)))],
        ...[dispatchInS ?? null, document?.type ?? 'sale'],
      ],
    );
    return id;
  }

  intent(receiptId: string): Intent {
    this.attempts += 1;
    const attemptId = `att_${this.attempts}`;
    const request = Buffer.from(`bytes of ${receiptId}`);
    this.intended.set(attemptId, receiptId);
    return { attemptId, receiptId, deviceId: this.deviceId, baseline: BASELINE, request, laneLock: this.laneLock };
  }

  /** Of an attempt that this made an intent for. */
  receiptOf(attemptId: string): string {
    const receiptId = this.intended.get(attemptId);
    if (receiptId === undefined) throw new Error(`there was no intent ${attemptId}`);
    return receiptId;
  }

  /** A receipt that is being sent. */
  async createOpenAttempt(): Promise<{ receiptId: string; attemptId: string }> {
    const receiptId = await this.createReceipt();
    const intent = this.intent(receiptId);
    if ((await this.ours.openAttempt(intent)) !== 'opened') throw new Error('the lane is not free');
    return { receiptId, attemptId: intent.attemptId };
  }

  /** Everything that is written down, due times too, becomes older by so much. */
  async passTime(ms: number): Promise<void> {
    const ago = `make_interval(secs => ${ms / 1_000})`;
    await this.sql.query(`
      UPDATE lanes SET due_at = due_at - ${ago}, settle_until = settle_until - ${ago}, updated_at = updated_at - ${ago};
      UPDATE receipts SET updated_at = updated_at - ${ago}, dispatch_before = dispatch_before - ${ago};
      UPDATE attempts SET created_at = created_at - ${ago}, closed_at = closed_at - ${ago};
      UPDATE attempts SET outcome = jsonb_set(outcome, '{refused_at}', to_jsonb((outcome ->> 'refused_at')::timestamptz - ${ago}))
       WHERE outcome ->> 'refused_at' IS NOT NULL`);
  }

  async locksHeldBy({ backendPid }: LaneLockHandle): Promise<number> {
    const { n } = await this.one<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = $1`,
      backendPid,
    );
    return n;
  }

  /** The server notices the end of a session a moment later. */
  untilReleased(laneLock: LaneLockHandle): Promise<void> {
    return untilTrue(async () => (await this.locksHeldBy(laneLock)) === 0, 'the lock is free');
  }

  async one<Row extends pg.QueryResultRow>(text: string, ...values: unknown[]): Promise<Row> {
    const { rows } = await this.sql.query<Row>(text, values);
    if (rows.length !== 1 || !rows[0]) throw new Error(`${rows.length} rows: ${text}`);
    return rows[0];
  }

  receipt(id: string): Promise<Record<string, unknown>> {
    return this.one('SELECT * FROM receipts WHERE id = $1', id);
  }

  attempt(id: string): Promise<Record<string, unknown>> {
    return this.one('SELECT * FROM attempts WHERE id = $1', id);
  }

  lane(deviceId = this.deviceId): Promise<Record<string, unknown>> {
    return this.one('SELECT * FROM lanes WHERE device_id = $1', deviceId);
  }

  async events(): Promise<string[]> {
    const { rows } = await this.sql.query<{ type: string }>('SELECT type FROM events ORDER BY position');
    return rows.map(({ type }) => type);
  }
}

export async function backendPidOf(session: pg.Client): Promise<number> {
  const { rows } = await session.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid ?? 0;
}
