import pg from 'pg';
import { Prisma, PrismaService } from '#database';
import { createLogger } from '#runtime';
import { createTestDatabase, type TestDatabase } from '../../../../libs/database/src/testing/index.js';
import { HoldLane } from '../lanes/hold-lane.js';
import { LaneRepository } from '../lanes/lane.repository.js';
import type { LaneLockHandle, LaneLocks } from '../lanes/ports.js';
import { joinWatch, type Watch, type WatchSettings } from '../watch.js';
import { ShopRegister, type TestTime } from './shop-register.js';

const MINUTE = 60_000;

const SETTINGS: WatchSettings = {
  pollEveryMs: 20 * MINUTE,
  pollConcurrency: 200,
  resendEveryMs: 2 * 60 * MINUTE,
  closeAt: '23:50',
};

export interface RigDevice {
  branchId?: string;
  groupId?: string | null;
  profile?: Record<string, unknown>;
  closeAt?: string | null;
  maxUnsent?: number;
}

/** The watch of one or more relays over registers of a model, on a real database, in time that the test owns. */
export class WatchRig {
  readonly registers = new Map<string, ShopRegister>();
  /** What holds a lane has lost its lock by now. */
  hasLostLocks = false;
  readonly rung: string[] = [];
  /** Linked registers that are to be asked who they are. */
  readonly admitted: string[] = [];
  private readonly locked = new Set<number>();
  private receipts = 0;

  private constructor(
    readonly database: TestDatabase,
    readonly sql: pg.Client,
    readonly prisma: PrismaService,
    readonly time: TestTime,
  ) {}

  static async start(startAt: string): Promise<WatchRig> {
    const database = await createTestDatabase();
    const sql = new pg.Client({ connectionString: database.ownerUrl });
    await sql.connect();
    const prisma = new PrismaService({
      url: database.url,
      poolSize: 12,
      applicationName: 'test',
      lockTimeoutMs: 5_000,
    });
    const rig = new WatchRig(database, sql, prisma, { nowMs: Date.parse(startAt) });
    await sql.query(`INSERT INTO merchants (id, code, name, tin) VALUES ('mer_1', 'shop', 'Shop', '300000000')`);
    for (const branch of ['brn_1', 'brn_2'])
      await sql.query(`INSERT INTO branches (id, merchant_id, code, name) VALUES ($1, 'mer_1', $1, $1)`, [branch]);
    await sql.query(`INSERT INTO device_groups (id, merchant_id, code, name) VALUES ('grp_1', 'mer_1', 'g', 'G')`);
    return rig;
  }

  async stop(): Promise<void> {
    await this.prisma.$disconnect();
    await this.sql.end();
    await this.database.drop();
  }

  async clear(): Promise<void> {
    await this.sql.query(`DELETE FROM attempts; DELETE FROM receipts; DELETE FROM events; DELETE FROM z_reports;
                          DELETE FROM shifts; DELETE FROM lanes; DELETE FROM link_keys; DELETE FROM devices`);
    this.registers.clear();
    this.hasLostLocks = false;
    this.rung.length = 0;
    this.admitted.length = 0;
  }

  /** One relay's watch; all of a rig share registers, locks and time. */
  relay(more: Partial<WatchSettings> = {}): Watch {
    const registers = { of: ({ id }: { id: string }): ShopRegister => this.registerOf(id) };
    const ring = (deviceId: string): void => void this.rung.push(deviceId);
    const store = new LaneRepository(this.prisma, 'rly_1');
    const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const lanes = new HoldLane(store, this.locks(), registers, ring, pause);
    const clock = { now: () => new Date(this.time.nowMs), monotonicMs: () => this.time.nowMs };
    const tools = { clock, logger: createLogger('test', 'silent'), random: Math.random };
    const admit = (deviceId: string): void => void this.admitted.push(deviceId);
    return joinWatch(
      { prisma: this.prisma, now: this.now, lanes, registers, ring, admit },
      { ...SETTINGS, ...more },
      tools,
    );
  }

  registerOf(deviceId: string): ShopRegister {
    const register = this.registers.get(deviceId);
    if (!register) throw new Error(`no register ${deviceId}`);
    return register;
  }

  async addDevice(id: string, device: RigDevice = {}): Promise<ShopRegister> {
    const { branchId = 'brn_1', groupId = null, profile = {}, closeAt = null } = device;
    const register = new ShopRegister(id, this.time, device.maxUnsent);
    await this.sql.query(
      `INSERT INTO devices (id, merchant_id, branch_id, group_id, name, base_url, api_key_sealed, profile, close_at,
                            terminal_id, journal_id, state_since)
       VALUES ($1, 'mer_1', $2, $3, $1, 'http://127.0.0.1:1', '\\x00', $4, $5, $6, $6, $7)`,
      [id, branchId, groupId, { sharing: 'exclusive', ...profile }, closeAt, register.terminalId, this.at(0)],
    );
    await this.sql.query('INSERT INTO lanes (device_id) VALUES ($1)', [id]);
    this.registers.set(id, register);
    return register;
  }

  /** A sale as the lane records it: the register has it, and so has the database. */
  async sell(deviceId: string, cashTiyin = 112_000): Promise<string> {
    const register = this.registerOf(deviceId);
    const { receiptSeq, isSent, vatTiyin } = register.sell(cashTiyin);
    const fiscal = [
      register.terminalId,
      receiptSeq,
      this.at(0),
      isSent ? 'sent' : 'pending',
      isSent ? this.at(0) : null,
    ];
    return this.insert(deviceId, { status: 'registered', cashTiyin, vatTiyin, fiscal });
  }

  /** An advance as the lane records it. */
  advance(deviceId: string): Promise<string> {
    const register = this.registerOf(deviceId);
    const fiscal = [register.terminalId, register.advance(), this.at(0), 'sent', this.at(0)];
    return this.insert(deviceId, { status: 'registered', type: 'advance', cashTiyin: 1_000, vatTiyin: 0, fiscal });
  }

  /** A receipt that waits in the lane. */
  accept(deviceId: string, more: { type?: string; requiredFields?: readonly string[] } = {}): Promise<string> {
    return this.insert(deviceId, { status: 'accepted', cashTiyin: 1, vatTiyin: 0, fiscal: null, ...more });
  }

  private async insert(
    deviceId: string,
    row: {
      status: string;
      cashTiyin: number;
      vatTiyin: number;
      fiscal: unknown[] | null;
      type?: string;
      requiredFields?: readonly string[];
    },
  ): Promise<string> {
    this.receipts += 1;
    const id = `rcp_${String(this.receipts).padStart(6, '0')}`;
    const payment = { method: 'cash', provider: null, cashTiyin: row.cashTiyin, cardTiyin: 0 };
    await this.sql.query(
      `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, document,
                             total_tiyin, vat_total_tiyin, created_at, updated_at, terminal_id, receipt_seq, registered_at,
                             evidence, ofd_status, ofd_deadline_at, ofd_sent_at)
       VALUES ($1, 'mer_1', 'cli_1', 'receipts', '\\x00', $2, $3, nextval('lane_place_seq'), $4, $5, $6, $7, $8, $8,
               $9, $10, $11, CASE WHEN $9::text IS NULL THEN NULL ELSE 'answer'::evidence END, $12,
               $11::timestamptz + interval '48 hours', $13)`,
      [
        ...[
          id,
          row.type ?? 'sale',
          row.status,
          deviceId,
          { lines: [{ line: 1 }], payment, requiredFields: row.requiredFields },
        ],
        ...[row.cashTiyin, row.vatTiyin, this.at(0), ...(row.fiscal ?? [null, null, null, null, null])],
      ],
    );
    return id;
  }

  /** The rig's time, as statements read it. */
  readonly now = (): Prisma.Sql => Prisma.sql`${new Date(this.time.nowMs).toISOString()}::timestamptz`;

  /** Everything that is due now has been done, by all relays at the same time. */
  async work(...relays: Watch[]): Promise<void> {
    await Promise.all(relays.map((relay) => pollAll(relay)));
    for (let round = 0; round < 2; round += 1) {
      await Promise.all(
        relays.map(async ({ keeper, ofd, failover }) => {
          await keeper.poll();
          await keeper.settle();
          while (await ofd.poll());
          await ofd.settle();
          await failover.poll();
        }),
      );
    }
  }

  /** @param afterMs from now, or back */
  at(afterMs: number): string {
    return new Date(this.time.nowMs + afterMs).toISOString();
  }

  async events(like = '%'): Promise<{ type: string; subject: string; data: Record<string, unknown> }[]> {
    const { rows } = await this.sql.query<{ type: string; subject: string; data: Record<string, unknown> }>(
      'SELECT type, subject_id AS subject, data FROM events WHERE type LIKE $1 ORDER BY position',
      [like],
    );
    return rows;
  }

  async types(like = '%'): Promise<string[]> {
    return (await this.events(like)).map(({ type }) => type);
  }

  async one<Row extends pg.QueryResultRow>(text: string, ...values: unknown[]): Promise<Row> {
    const { rows } = await this.sql.query<Row>(text, values);
    if (rows.length !== 1 || !rows[0]) throw new Error(`${rows.length} rows: ${text}`);
    return rows[0];
  }

  device(id: string): Promise<Record<string, unknown>> {
    return this.one('SELECT * FROM devices WHERE id = $1', id);
  }

  /** The lane locks of PostgreSQL are tried elsewhere (advisory-lane-locks.int-spec.ts). */
  locks(): LaneLocks {
    return {
      tryTake: (lockNumber) => {
        if (this.locked.has(lockNumber)) return Promise.resolve(null);
        this.locked.add(lockNumber);
        const release = (): Promise<void> => {
          this.locked.delete(lockNumber);
          return Promise.resolve();
        };
        const laneLock: LaneLockHandle = {
          lockNumber,
          backendPid: 0,
          serverStartedAt: '',
          isHeld: () => !this.hasLostLocks,
          release,
          // Not asked: a lane is read after its release.
          releaseAndAsk: () => release().then(() => null),
        };
        return Promise.resolve(laneLock);
      },
    };
  }
}

async function pollAll({ poller }: Watch): Promise<void> {
  while (await poller.beginDue()) await poller.settle();
  await poller.settle();
}
