import { parkAttempt, cancelReceipt } from '#ledger';
import { documentOf } from '../../../apps/device-relay/src/lanes/simulation/testing/documents.js';
import { toLocalReceipt } from '#fiscal-domain';
import { AdoptDevice } from '../../../apps/gateway/src/operator/adopt-device.js';
import { ResolveAttempt } from '../../../apps/gateway/src/operator/resolve-attempt.js';
import { HoldLanes } from '../../../apps/gateway/src/operator/restore/hold-lanes.js';
import { NothingLost } from '../../../apps/gateway/src/operator/restore/nothing-lost.js';
import type { RegisterModel } from '../../../apps/device-relay/src/lanes/simulation/testing/register-model.js';
import type { CopiedShop } from './copied-shop.js';
import { answerOf, ShopFleet } from './shop-fleet.js';

const CALLER = { merchantId: 'mer_1', actor: 'a person', address: null, requestId: 'req_1' };
const PROGRAM = { actor: 'a person', address: null, requestId: 'req_1' };
const GROUNDS = { reason: 'compared', evidence: { file: 'ofd.csv', sha256: '00' } };

const COPIES = 4;
/** Rounds until everything must have come to its end. */
const LAST_ROUNDS = 90;

type Act = () => Promise<void>;

/**
 * What happens to a shop, by chance: again and again sales of which some wait, a copy, whatever comes after it and is lost with the database,
 * the copy put back, and what registers and people do before all is compared.
 */
export class ShopWalk {
  private putBack: (() => Promise<void>) | null = null;
  private copies = 0;
  private waitedAt: string[] = [];
  /** Receipts of copies that were put back, which a register had by then. */
  readonly atStake = { here: 0, elsewhere: 0 };
  /** The newest change of the database lost nothing, which a person may say. */
  private isExact = false;

  private readonly fleet: ShopFleet;

  constructor(private readonly shop: CopiedShop) {
    this.fleet = new ShopFleet(shop);
  }

  async walk(): Promise<void> {
    const { chance, judge } = this.shop;
    const pass =
      (...ms: readonly number[]): Act =>
      () =>
        this.shop.pass(chance.pick(ms));
    const round: Act = () => this.shop.round();
    const sell: Act = () => this.sell();
    const registers = [() => this.nap(), () => this.nap(), () => this.exchange(), () => this.sellBeside()];
    const people = [() => this.adopt(), () => this.resolve(), () => this.park(), () => this.cancel()];
    const clients = [() => this.fleet.refund(), () => this.fleet.refund()];
    const owners = [() => this.fleet.switch(), () => this.fleet.switch(), () => this.fleet.exchangeDevice()];
    const restored = [
      () => this.end(),
      () => this.sayNothingLost(),
      () => this.begin(),
      () => this.shop.restartRelays(),
    ];
    const before = [sell, sell, () => this.await(), round, pass(2_000), ...registers, ...people, ...clients, ...owners];
    const outage: Act = () => this.outage();
    const lost = [
      sell,
      round,
      round,
      pass(8_000, 40_000),
      outage,
      outage,
      () => this.release(),
      ...registers,
      ...people,
      ...clients,
      ...owners,
    ];
    const after = [...lost, ...restored, () => this.end(), ...people.slice(0, 2), () => this.restore()];
    await this.shop.warmUp();
    for (let copy = 0; copy < COPIES && judge.broken.length === 0; copy += 1) {
      await this.some(before, 2, 6);
      // Something waits in each copy.
      await this.sell();
      await this.copy();
      await this.some(lost, 2, 8);
      if (chance.happens(0.5)) await this.sendLate();
      await (chance.happens(0.75) ? this.restore() : this.promote());
      await this.some(after, 3, 10);
    }
    await this.comeToAnEnd();
  }

  private async some(acts: readonly Act[], fewest: number, most: number): Promise<void> {
    const { chance, judge } = this.shop;
    for (let left = Math.round(chance.between(fewest, most)); left > 0 && judge.broken.length === 0; left -= 1)
      await chance.pick(acts)();
  }

  /** Nothing goes wrong any more, and people do what is theirs: everything must be settled, and truly. */
  private async comeToAnEnd(): Promise<void> {
    const { judge, registers, rows } = this.shop;
    this.shop.isHealed = true;
    for (const register of registers.values()) {
      register.wake();
      register.refusesWith = null;
    }
    this.note('healed');
    await this.fleet.openAll();
    for (
      let id = await this.anyReceipt('awaiting_payment');
      id !== null;
      id = await this.anyReceipt('awaiting_payment')
    )
      await this.shop.release(id);
    for (let rounds = 0; rounds < LAST_ROUNDS && judge.broken.length === 0; rounds += 1) {
      await this.end();
      await this.shop.pass(16_000);
      if (!(await this.isUnderWay())) break;
      if (rounds % 4 === 3)
        for (const act of [() => this.park(), () => this.adopt(), () => this.resolve(rounds > 10)]) await act();
    }
    if (judge.broken.length > 0) return;
    const { rows: receipts } = await rows.sql.query<{
      id: string;
      status: string;
      terminal_id: string | null;
      receipt_seq: string | null;
    }>('SELECT id, status::text, terminal_id, receipt_seq::text FROM receipts ORDER BY id');
    for (const receipt of receipts) {
      judge.judge(receipt);
      if (!['registered', 'cancelled', 'rejected', 'awaiting_payment'].includes(receipt.status))
        judge.breaks(`${receipt.id} is still ${receipt.status}`, receipt.id);
    }
    for (const id of await this.fleet.refundedBeyond()) judge.breaks(`more of ${id} is refunded than was sold`, id);
  }

  private async isUnderWay(): Promise<boolean> {
    const { rows } = await this.shop.rows.sql.query(
      `SELECT FROM receipts WHERE status IN ('accepted', 'sending', 'unknown') LIMIT 1`,
    );
    return rows.length > 0;
  }

  private async sell(): Promise<void> {
    for (let count = Math.ceil(this.shop.chance.between(0, 4)); count > 0; count -= 1)
      await this.shop.accept('accepted');
  }

  private async await(): Promise<void> {
    await this.shop.accept('awaiting_payment');
  }

  private async release(): Promise<void> {
    const id = await this.anyReceipt('awaiting_payment');
    if (id !== null) await this.shop.release(id);
  }

  private async cancel(): Promise<void> {
    const receiptId = await this.anyReceipt('accepted');
    if (receiptId === null) return;
    const isDone = await cancelReceipt(this.shop.rows.prisma, { merchantId: 'mer_1', receiptId, reason: 'wrong' });
    this.note(`${receiptId} ${isDone ? 'cancelled' : 'may not be cancelled'}`);
  }

  private async nap(): Promise<void> {
    const register = this.anyRegister();
    if (register.asleep) register.wake();
    else register.sleep();
    this.note(`${register.deviceId} ${register.asleep ? 'falls asleep' : 'wakes'}`);
    return Promise.resolve();
  }

  /** What is sent now is on its way to registers when the database is lost. */
  private async sendLate(): Promise<void> {
    this.shop.isLate = true;
    await this.shop.round();
    this.shop.isLate = false;
  }

  /** So long that what waits there moves on, where it may. */
  private async outage(): Promise<void> {
    const register = this.anyRegister();
    register.sleep();
    this.note(`${register.deviceId} is away`);
    await this.shop.pass(40_000);
    register.wake();
  }

  private exchange(): Promise<void> {
    const register = this.anyRegister();
    register.replaceModule();
    this.note(`${register.deviceId} gets another module`);
    return Promise.resolve();
  }

  /** A cashier, at a register that is not ours alone. */
  private sellBeside(): Promise<void> {
    const register = this.shop.registers.get('dev_4')!;
    if (register.asleep) return Promise.resolve();
    register.sellForeign(toLocalReceipt(documentOf('a cashier', this.shop.chance), 'unit'));
    this.note('dev_4 sells beside us');
    return Promise.resolve();
  }

  private async park(): Promise<void> {
    const { rows } = this.shop;
    const { rows: open } = await rows.sql.query<{ id: string; receiptId: string; deviceId: string; keyed: boolean }>(
      `SELECT id, receipt_id AS "receiptId", device_id AS "deviceId", baseline ->> 'journalId' IS NOT NULL AS keyed
         FROM attempts WHERE state = 'open' ORDER BY id`,
    );
    if (open.length === 0) return;
    const attempt = this.shop.chance.pick(open);
    const evidence = { why: 'parked by an operator: it stands in the way' };
    await rows.prisma.$transaction((tx) => parkAttempt(tx, attempt, { evidence, mustSettle: !attempt.keyed }));
    this.note(`${attempt.receiptId} parked`);
  }

  /**
   * Of what is unknown, or was sent again by a person and waits, by what the registers' journals really have; what is refused stays. What none has is sent again, or
   * ended.
   *
   * @param mayConfirm nothing that was sent can be on its way any more: a lane that has nothing to send does not settle by itself
   */
  private async resolve(mayConfirm = false): Promise<void> {
    const { rows } = await this.shop.rows.sql.query<{ attempt: string; receipt: string; type: string }>(
      `SELECT DISTINCT ON (r.id) a.id AS attempt, r.id AS receipt, r.type::text
         FROM receipts r JOIN attempts a ON a.receipt_id = r.id
        WHERE (r.status = 'unknown' AND a.state = 'unknown')
           OR (r.status = 'accepted' AND a.state = 'not_registered' AND a.outcome -> 'resolution' IS NOT NULL)
        ORDER BY r.id, a.number DESC`,
    );
    for (const { attempt, receipt, type } of rows) {
      const document = this.shop.judge.documentOf(receipt);
      const decision = document
        ? ({ kind: 'registered', reason: 'seen', claim: claimOf(document, type), confirmTerminal: true } as const)
        : ({
            kind: 'not_registered',
            reason: 'not seen',
            confirmUnsettled: mayConfirm,
            sendsAgain: this.shop.chance.happens(0.5),
            document: null,
          } as const);
      const command = { caller: CALLER, attemptId: attempt, decision, evidence: GROUNDS.evidence };
      const said = await answerOf(() => this.shop.app.get(ResolveAttempt).execute(command));
      this.note(`${receipt} decided as ${decision.kind}: ${said}`);
    }
  }

  private async adopt(): Promise<void> {
    const { rows } = await this.shop.rows.sql.query<{ id: string }>(
      `SELECT id FROM devices WHERE state = 'replaced' ORDER BY id`,
    );
    for (const { id: deviceId } of rows) {
      const command = { caller: CALLER, deviceId, ...GROUNDS };
      const said = await answerOf(() => this.shop.app.get(AdoptDevice).execute(command));
      this.note(`${deviceId} adopted: ${said}`);
    }
  }

  private async copy(): Promise<void> {
    this.putBack = await this.shop.copies.take();
    const { rows } = await this.shop.rows.sql.query<{ id: string }>(
      `SELECT DISTINCT device_id AS id FROM receipts WHERE status IN ('accepted', 'sending') ORDER BY 1`,
    );
    this.waitedAt = rows.map(({ id }) => id);
    this.copies += 1;
    this.note(`copy ${this.copies}`);
  }

  /** On another server, which relays notice, or from a snapshot of the disk, which a person announces. */
  private async restore(): Promise<void> {
    const { putBack } = this;
    if (putBack === null) return;
    this.isExact = false;
    const isNoticed = this.shop.chance.happens(0.6);
    await this.shop.restore(async () => {
      await putBack();
      await this.countAtStake();
      if (isNoticed) await this.rename();
      else await this.shop.app.get(HoldLanes).begin(PROGRAM, 'a snapshot was put back');
    });
    this.note(`copy ${this.copies} put back, ${isNoticed ? 'noticed' : 'announced'}`);
    await this.shop.round();
  }

  /** What the copy calls unfinished, and a register has: of the device in whose lane it stands, or of another one. */
  private async countAtStake(): Promise<void> {
    const { rows } = await this.shop.rows.sql.query<{ id: string; device_id: string }>(
      `SELECT id, device_id FROM receipts WHERE status IN ('awaiting_payment', 'accepted', 'sending')`,
    );
    for (const { id, device_id: deviceId } of rows) {
      const document = this.shop.judge.documentOf(id);
      if (document) this.atStake[document.deviceId === deviceId ? 'here' : 'elsewhere'] += 1;
    }
  }

  /** A standby that had everything. */
  private async promote(): Promise<void> {
    await this.shop.restore(() => this.rename());
    this.isExact = true;
    this.note('promoted, nothing lost');
    await this.shop.round();
  }

  private async rename(): Promise<void> {
    await this.shop.rows.sql.query(`UPDATE database_identity SET identity = 'the one before'`);
  }

  /** A person who wants to be sure, or who has restored by hand. */
  private async begin(): Promise<void> {
    await this.shop.app.get(HoldLanes).begin(PROGRAM, 'to be sure');
    this.isExact = true;
    this.note('restore begin');
    await this.shop.restartRelays();
  }

  private async end(): Promise<void> {
    if (await this.shop.app.get(HoldLanes).end(PROGRAM, 'compared')) this.note('restore end');
  }

  /** Only where it is true, of the newest change of the database. */
  private async sayNothingLost(): Promise<void> {
    if (!this.isExact) return;
    const given = await this.shop.app.get(NothingLost).execute(PROGRAM, GROUNDS);
    this.note(`nothing was lost: ${JSON.stringify(given)}`);
  }

  private async anyReceipt(status: string): Promise<string | null> {
    const { rows } = await this.shop.rows.sql.query<{ id: string }>(
      'SELECT id FROM receipts WHERE status = $1::receipt_status ORDER BY id',
      [status],
    );
    return rows.length === 0 ? null : this.shop.chance.pick(rows).id;
  }

  /** Half of what happens to registers happens where something waited in the newest copy. */
  private anyRegister(): RegisterModel {
    const { chance, registers } = this.shop;
    const ids = this.waitedAt.length > 0 && chance.happens(0.5) ? this.waitedAt : [...registers.keys()];
    return registers.get(chance.pick(ids))!;
  }

  private note(line: string): void {
    this.shop.note(line);
  }
}

function claimOf({ terminalId, seq }: { terminalId: string; seq: number }, type: string) {
  const hasSign = type !== 'advance' && type !== 'credit';
  const sign = String(seq).padStart(12, '0');
  return {
    receiptSeq: seq,
    fiscalSign: hasSign ? sign : null,
    verificationUrl: hasSign ? `https://ofd.example/check?t=${terminalId}&r=${seq}&c=20260101120000&s=${sign}` : null,
    terminalId: hasSign ? null : terminalId,
    registeredAt: null,
  };
}
