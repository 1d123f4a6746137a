import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type pg from 'pg';
import { createLogger, NestLogger, newId, type Clock } from '#runtime';
import { releaseReceiptWithin } from '#ledger';
import { Chance } from '../../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import { documentOf } from '../../../apps/device-relay/src/lanes/simulation/testing/documents.js';
import {
  RegisterModel,
  type RegisterKind,
} from '../../../apps/device-relay/src/lanes/simulation/testing/register-model.js';
import { SimulatedSpool } from '../../../apps/device-relay/src/lanes/simulation/testing/spool.js';
import { VirtualTime } from '../../../apps/device-relay/src/lanes/simulation/testing/virtual-time.js';
import { LaneRows } from '../../../apps/device-relay/src/lanes/testing/lane-rows.js';
import { superuserOf } from '../../../libs/database/src/testing/index.js';
import { DatabaseCopies } from './database-copy.js';
import { ShopJudge } from './shop-judge.js';
import { ShopLine } from './shop-line.js';
import { ShopProgram } from './shop-program.js';
import { ShopRelay } from './shop-relay.js';

const SETTLE_MS = 20_000;
const PLAIN = { phone: false, lagMs: 1, sequenceOffset: 0, tiyinPerUnit: 1, worstWorkMs: SETTLE_MS - 5_000 };
const PROFILE = { pacingMs: 0, settleMs: SETTLE_MS, parkAfterMs: 600_000, callTimeoutMs: 5_000 };
const FAILOVER = { failoverAfterMs: 20_000 };

interface ShopDevice {
  kind: RegisterKind;
  profile: Record<string, unknown>;
  groupId: string | null;
}

/** Of each kind that a restore distinguishes: with and without keys, with and without failover, sold at beside us or not. */
const DEVICES: readonly ShopDevice[] = [
  { kind: { ...PLAIN, keyed: true }, profile: FAILOVER, groupId: null },
  { kind: { ...PLAIN, keyed: true }, profile: FAILOVER, groupId: 'grp_1' },
  { kind: { ...PLAIN, keyed: false }, profile: { ...FAILOVER, sharing: 'exclusive' }, groupId: null },
  { kind: { ...PLAIN, keyed: false, sequenceOffset: 1 }, profile: { sharing: 'shared' }, groupId: 'grp_1' },
  { kind: { ...PLAIN, keyed: true }, profile: {}, groupId: null },
];

/** What passes between two rounds of all that may be due. */
const TICK_MS = 8_000;
const logger = createLogger('test', 'silent');

/** A shop with its registers, relays and people on a database that is copied, lost and put back. */
export class CopiedShop {
  readonly judge = new ShopJudge();
  /** By the device that has it, or had it. */
  readonly registers = new Map<string, RegisterModel>();
  private readonly devices = new Map<string, ShopDevice>();
  isHealed = false;
  isLate = false;
  private readonly time = new VirtualTime();
  private readonly spool = new SimulatedSpool();
  private relays: ShopRelay[] = [];

  private constructor(
    readonly chance: Chance,
    readonly rows: LaneRows,
    readonly app: INestApplicationContext,
    private readonly admin: pg.Client,
    readonly copies: DatabaseCopies,
  ) {}

  static async open(seed: number): Promise<CopiedShop> {
    const rows = await LaneRows.start();
    const admin = await superuserOf(rows.database);
    const app = await NestFactory.createApplicationContext(ShopProgram.create(rows.database, logger), {
      logger: new NestLogger(logger),
    });
    const shop = new CopiedShop(new Chance(seed), rows, app, admin, await DatabaseCopies.of(admin));
    await rows.sql.query(
      `INSERT INTO device_groups (id, merchant_id, code, name) VALUES ('grp_1', 'mer_1', 'g', 'Group')`,
    );
    // What the lines of all documents name.
    await rows.sql.query(
      `INSERT INTO classifier_entries (spic, name, packages, units, marked, cash_allowed, vat_percents, active, version)
       VALUES ('01001001001000001', '{"ru": "Хлеб"}', '[{"code": "1", "name": "шт"}]', 796, false, true, '{0,12}', true, 1)`,
    );
    for (const [index, device] of DEVICES.entries()) await shop.addDevice(`dev_${index + 1}`, device);
    for (let count = 0; count < 2; count += 1) await shop.startRelay();
    return shop;
  }

  async close(): Promise<void> {
    for (const relay of this.relays) await relay.end();
    await this.app.close();
    await this.admin.end();
    await this.rows.stop();
  }

  note(line: string): void {
    this.judge.note(`${Math.round(this.time.nowMs / 1_000)} s  ${line}`);
  }

  /** Every register has sold, and is known by its module and its counters. */
  async warmUp(): Promise<void> {
    this.isHealed = true;
    for (let sales = 0; sales < 3; sales += 1) {
      for (const deviceId of this.registers.keys()) await this.accept('accepted', deviceId);
      await this.round();
    }
    this.isHealed = false;
  }

  async accept(status: 'accepted' | 'awaiting_payment', at?: string): Promise<string> {
    const id = newId('rcp');
    const { chance } = this;
    const deviceId = at ?? chance.pick(await this.devicesToSellAt());
    await this.rows.createReceipt({ id, deviceId, status, document: documentOf(id, chance) });
    this.note(`${id} ${status} at ${deviceId}`);
    return id;
  }

  async release(receiptId: string): Promise<void> {
    const dispatchBefore = this.chance.happens(0.3) ? new Date(Date.now() + this.chance.between(0, 120_000)) : null;
    await this.rows.prisma.$transaction((tx) =>
      releaseReceiptWithin(tx, receiptId, { dispatchBefore, extraInfo: null }),
    );
    this.note(`${receiptId} released`);
  }

  /** All that may be due is done, by one of the relays, after a while in which the registers go on. */
  async pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= TICK_MS) {
      const stepMs = Math.min(leftMs, TICK_MS);
      await this.passNow(stepMs);
      await this.round();
    }
  }

  async round(): Promise<void> {
    await this.replaceDead();
    for (const deviceId of await this.lanesWithWork()) {
      if (this.judge.broken.length > 0) return;
      await this.chance.pick(this.relays).drain(deviceId);
      await this.replaceDead();
    }
    const relay = this.chance.pick(this.relays);
    await relay.compare();
    if (!relay.isDead) await relay.failOver();
    await this.replaceDead();
  }

  async restartRelays(): Promise<void> {
    for (const relay of this.relays) void relay.kill();
    await this.replaceDead();
  }

  async restore(putBack: () => Promise<void>): Promise<void> {
    for (const relay of this.relays) void relay.kill();
    for (const relay of this.relays) await relay.end();
    await putBack();
  }

  private async startRelay(): Promise<void> {
    const { rows, chance, spool } = this;
    const clock: Clock = {
      now: () => new Date(),
      monotonicMs: () => performance.now() + this.time.nowMs,
    };
    const isHealed = (): boolean => this.isHealed;
    const isLate = (): boolean => this.isLate;
    const note = (line: string): void => this.note(line);
    const relay = new ShopRelay({
      ...{ prisma: rows.prisma, databaseUrl: rows.database.url, clock, chance, isHealed, note, spool },
      registerOf: (deviceId, kill) =>
        new ShopLine(this.registers.get(deviceId)!, { chance, isHealed, isLate, note, kill }),
    });
    this.relays.push(relay);
    await relay.start();
  }

  private async replaceDead(): Promise<void> {
    const dead = this.relays.filter(({ isDead }) => isDead);
    if (dead.length === 0) return;
    this.relays = this.relays.filter(({ isDead }) => !isDead);
    for (const relay of dead) {
      await relay.end();
      await this.startRelay();
    }
  }

  private async passNow(ms: number): Promise<void> {
    let isOver = false;
    this.time.after(ms, () => (isOver = true));
    await this.time.run(() => isOver);
    await this.rows.passTime(ms);
    const ago = `make_interval(secs => ${ms / 1_000})`;
    await this.rows.sql.query(`
      UPDATE restore_checks SET due_at = due_at - ${ago}, answered_at = answered_at - ${ago}, seen_at = seen_at - ${ago}
       WHERE verdict IS NULL;
      UPDATE devices SET draining_since = draining_since - ${ago} WHERE draining_since IS NOT NULL;
      UPDATE devices SET state_since = state_since - ${ago} WHERE state NOT IN ('online', 'disabled')`);
  }

  async liveDevices(): Promise<string[]> {
    const { rows } = await this.rows.sql.query<{ id: string }>(
      `SELECT id FROM devices WHERE deleted_at IS NULL ORDER BY id`,
    );
    return rows.map(({ id }) => id);
  }

  private async devicesToSellAt(): Promise<string[]> {
    const { rows } = await this.rows.sql.query<{ id: string }>(
      `SELECT id FROM devices WHERE deleted_at IS NULL AND draining_since IS NULL ORDER BY id`,
    );
    return rows.length > 0 ? rows.map(({ id }) => id) : this.liveDevices();
  }

  /** Another device for the register of this one. */
  async addDeviceFor(deviceId: string): Promise<void> {
    const id = `dev_${this.registers.size + 1}`;
    await this.insertDevice(id, this.devices.get(deviceId)!);
    this.registers.set(id, this.registers.get(deviceId)!);
    this.note(`${id} in the place of ${deviceId}`);
  }

  private async lanesWithWork(): Promise<string[]> {
    const { rows } = await this.rows.sql.query<{ id: string }>(
      `SELECT DISTINCT device_id AS id FROM receipts WHERE status IN ('accepted', 'sending') ORDER BY 1`,
    );
    return rows.map(({ id }) => id);
  }

  private async insertDevice(id: string, device: ShopDevice): Promise<void> {
    const { profile, groupId } = device;
    this.devices.set(id, device);
    if (id !== 'dev_1') await this.rows.createDevice(id);
    await this.rows.sql.query(
      `UPDATE devices SET profile = $2, group_id = $3, registered_at = now(), capabilities = '{}' WHERE id = $1`,
      [id, JSON.stringify({ ...PROFILE, ...profile }), groupId],
    );
  }

  private async addDevice(id: string, device: ShopDevice): Promise<void> {
    await this.insertDevice(id, device);
    const register = new RegisterModel(id, device.kind, {
      ...{ time: this.time, chance: this.chance },
      appended: (_, { key, terminalId, seq, request }) =>
        this.judge.appended(key, { deviceId: id, terminalId, seq }, request),
    });
    this.registers.set(id, register);
  }
}
