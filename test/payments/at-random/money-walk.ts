import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { isWithoutMoney, type PaymentState } from '#payments';
import { createLogger, endsWithin } from '#runtime';
import { Chance } from '../../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import { holdAfterRestore } from '../../../apps/device-relay/src/copies/hold-after-restore.js';
import type { DatabaseCopies } from '../../recovery/at-random/database-copy.js';
import type { PaymentsAnswer, PaymentsFixture } from '../payments-fixture.js';
import { MoneyJudge, PIECES, type KnownPayment } from './money-judge.js';

const RETURN_URL = 'https://shop.example/back';

/** Ways of paying; `isFound`: what became of a charge can be read without the provider's id of it. */
const WAYS: readonly { payment: Record<string, unknown>; isFound: boolean }[] = [
  { payment: { provider: 'click', token: 'token-0001' }, isFound: true },
  { payment: { provider: 'click', token: 'token-0001' }, isFound: true },
  { payment: { provider: 'payme', token: 'token-0001' }, isFound: false },
  { payment: { provider: 'multicard', token: 'token-0001' }, isFound: false },
  { payment: { provider: 'stripe', token: 'pm_card_0001' }, isFound: false },
  { payment: { provider: 'uzum', token: 'token-0001' }, isFound: false },
  { payment: { provider: 'octo', return_url: RETURN_URL }, isFound: true },
  { payment: { provider: 'multicard', return_url: RETURN_URL }, isFound: false },
];
const FAULTS = ['drop_before', 'drop_after', 'error_before', 'error_after', 'malformed', 'decline'] as const;

/** A standby's lag, or the age of a backup; and until the first relay has met the server. */
const NOTICED_AFTER_MS = [0, 100, 400, 900];
const PUT_BACK = `
  INSERT INTO database_identity (identity, server_started) VALUES ('the one before', now() - interval '1 day')
  ON CONFLICT (id) DO UPDATE SET identity = excluded.identity, server_started = excluded.server_started;
  UPDATE payments SET lease_id = NULL, lease_until = NULL WHERE lease_id IS NOT NULL;`;

const PATIENCE_MS = 3_000;
const COPIES = 2;
/** Everything must have come to its end within so many rounds of this time; pauses before another try are cut short. */
const LAST_ROUNDS = 120;
const ROUND_MS = 250;
const SILENT = createLogger('test', 'silent');

type Act = () => Promise<void>;

/** What happens to money, by chance: payments and refunds in all ways, faults of providers, a database that is put back from a copy under it. */
export class MoneyWalk {
  readonly judge: MoneyJudge;
  private readonly chance: Chance;
  private readonly payments: string[] = [];
  /** Where customers were led to: a page stays open whatever becomes of its payment here. */
  private readonly pages = new Map<string, string>();
  private putBack: ((besides?: string) => Promise<void>) | null = null;

  constructor(
    seed: number,
    private readonly fixture: PaymentsFixture,
    private readonly copies: DatabaseCopies,
  ) {
    this.chance = new Chance(seed);
    this.judge = new MoneyJudge(fixture);
  }

  async walk(): Promise<void> {
    const { chance } = this;
    const pay: Act = () => this.pay();
    const customer: Act = () => this.customer();
    const refund: Act = () => this.refund();
    const others: Act[] = [() => this.cancel(), () => this.fault(), () => this.switchRegister(), () => this.pause()];
    const acts = [pay, pay, pay, customer, customer, refund, refund, ...others, () => this.resolve()];
    const some = async (fewest: number, most: number): Promise<void> => {
      for (let left = Math.round(chance.between(fewest, most)); left > 0; left -= 1) await chance.pick(acts)();
    };
    for (let copy = 0; copy < COPIES; copy += 1) {
      await some(3, 8);
      await this.copyWhilePaying();
      await some(2, 8);
      await this.restore();
      await some(1, 6);
      if (chance.happens(0.3)) await this.restore();
    }
    await this.comeToAnEnd();
  }

  /** What is just beginning then is what a copy knows least of. */
  private async copyWhilePaying(): Promise<void> {
    const paying = Array.from({ length: 4 }, async () => {
      await delay(this.chance.between(0, 60));
      await this.pay();
    });
    await delay(this.chance.between(10, 60));
    this.putBack = await this.copies.take();
    this.judge.copied();
    await Promise.all(paying);
  }

  private async pay(): Promise<void> {
    const way = this.chance.pick(WAYS);
    const sale = this.fixture.sale(way.payment);
    const [item] = sale['items'] as [Record<string, unknown>];
    const wait = { prefer: this.chance.happens(0.5) ? 'wait=1' : 'wait=0' };
    const body = { ...sale, items: [{ ...item, qty: PIECES }] };
    const answer = await this.fixture.ask('POST', '/v1/payments', body, wait);
    if (answer.status >= 300) return this.judge.note(`pay: ${answer.status} ${answer.body.code}`);
    this.payments.push(answer.body.id);
    this.notePage(answer.body);
    this.judge.paid(answer.body.id, { isFound: way.isFound, isPage: 'return_url' in way.payment });
    this.judge.note(`${answer.body.id} paid by ${JSON.stringify(way.payment)}: ${answer.status} ${answer.body.status}`);
  }

  /** Who pays on the page that a payment leads to. */
  private async customer(id = this.anyPayment()): Promise<void> {
    if (id === null) return;
    this.notePage(await this.fixture.read(id));
    const page = this.pages.get(id);
    if (page === undefined) return;
    // A page waits for what its provider asks us, which may wait for the register: its customer does not wait for ever.
    const isAnswered = await endsWithin(this.fixture.press(page), PATIENCE_MS);
    this.judge.note(`${id} paid on its page${isAnswered ? '' : ', which does not answer'}`);
  }

  private notePage({ id, next_action: next }: Pick<PaymentsAnswer['body'], 'id' | 'next_action'>): void {
    if (next?.type === 'redirect') this.pages.set(id, next.url);
  }

  private async refund(): Promise<void> {
    const id = this.anyPayment();
    const receiptId = id === null ? undefined : (await this.fixture.read(id)).receipt?.id;
    if (receiptId === undefined) return;
    const asked = this.chance.happens(0.5) ? {} : { lines: [{ line: 1, qty: Math.ceil(this.chance.between(0, 3)) }] };
    const answer = await this.fixture.ask('POST', `/v1/receipts/${receiptId}/refunds`, asked, { prefer: 'wait=0' });
    if (answer.status < 300) this.judge.asked(id ?? '');
    this.judge.note(`${id} refund ${JSON.stringify(asked)}: ${answer.status} ${answer.body.code ?? ''}`);
  }

  private async cancel(): Promise<void> {
    const id = this.anyPayment();
    if (id === null) return;
    const { status, body } = await this.fixture.ask('POST', `/v1/payments/${id}/cancel`, {});
    if (status < 300) this.judge.asked(id);
    this.judge.note(`${id} cancelled: ${status} ${body.code ?? body.status}`);
  }

  private async fault(): Promise<void> {
    const { chance } = this;
    const rules = Array.from({ length: Math.ceil(chance.between(0, 2)) }, () => ({
      fault: chance.pick(FAULTS),
      next: Math.ceil(chance.between(0, 3)),
    }));
    await this.fixture.faults(...rules);
    this.judge.note(JSON.stringify(rules));
  }

  private switchRegister(): Promise<void> {
    this.fixture.register = this.fixture.register === 'sleeps' ? 'registers' : 'sleeps';
    this.judge.note(`the register ${this.fixture.register}`);
    return Promise.resolve();
  }

  private pause(): Promise<void> {
    return delay(this.chance.between(20, 500));
  }

  /** Put back under gateways that go on: a standby was promoted; a relay notes it a moment later. */
  private async restore(): Promise<void> {
    if (this.putBack === null) return;
    const { putBack } = this;
    await this.fixture.whileAsleep(() => putBack(PUT_BACK));
    this.judge.note('put back');
    const known = await this.known();
    await this.judge.putBack(known);
    await delay(this.chance.pick(NOTICED_AFTER_MS));
    const session = new pg.Client({ connectionString: this.fixture.gateway.database.url });
    await session.connect();
    await holdAfterRestore(session, SILENT);
    await session.end();
    this.judge.note('noted by a relay');
  }

  /** Providers and the register answer again, and people do what is theirs. */
  private async comeToAnEnd(): Promise<void> {
    const { fixture, judge } = this;
    await fixture.faults();
    fixture.register = 'registers';
    judge.note('healed');
    for (let rounds = 0; rounds < LAST_ROUNDS; rounds += 1) {
      const known = await this.known();
      const open = known.filter((payment) => !isOver(payment));
      if (open.length === 0) return judge.judge(known, this.payments);
      if (rounds % 4 === 3) await this.resolve();
      if (rounds % 30 === 29) for (const payment of open) judge.note(JSON.stringify(payment));
      for (const { id } of open) await this.customer(id);
      await this.hurry();
      await delay(ROUND_MS);
    }
    const left = (await this.known()).filter((payment) => !isOver(payment));
    for (const { id, state, receipt } of left) judge.breaks(`${id} is still ${state}, its receipt ${receipt}`, id);
  }

  /** What a person finds at the provider. */
  private async resolve(): Promise<void> {
    for (const { id, state, refunded } of await this.known()) {
      if (hasEnded(state)) continue;
      const outcome = await this.judge.truthOf(id, refunded);
      if (outcome === null) continue;
      const said = { outcome, reason: 'found in the cabinet' };
      const { status, body } = await this.fixture.ask('POST', `/v1/operator/payments/${id}/resolve`, said);
      if (status < 300) this.judge.note(`${id} ${state}, resolved as ${outcome}`);
      else if (body.code !== 'payment_not_manual') this.judge.note(`${id} resolve: ${status} ${body.code}`);
    }
  }

  /** Time passes: what would be tried later is tried now. */
  private async hurry(): Promise<void> {
    const { prisma } = this.fixture.gateway;
    await prisma.$executeRaw`UPDATE payments SET due_at = now() WHERE due_at > now() + interval '1 second'`;
  }

  private known(): Promise<KnownPayment[]> {
    return this.fixture.gateway.prisma.$queryRaw<KnownPayment[]>`
      SELECT p.id, p.state::text, p.refunded_tiyin::int4 AS refunded, r.status::text AS receipt, r.id AS "receiptId", p.due_at IS NULL AS "isAtRest",
             EXISTS (SELECT FROM payment_refunds f WHERE f.payment_id = p.id AND f.state IN ('waiting', 'requested')) AS "isRefunding",
             (SELECT coalesce(sum(b.total_tiyin), 0)::int4 FROM receipts b WHERE b.refund_of = r.id AND b.status = 'registered') AS "soldBack"
        FROM payments p JOIN receipts r ON r.id = p.receipt_id WHERE p.id = ANY(${this.payments}::text[]) ORDER BY p.id`;
  }

  private anyPayment(): string | null {
    return this.payments.length === 0 ? null : this.chance.pick(this.payments);
  }
}

function hasEnded(state: PaymentState): boolean {
  return state === 'captured' || isWithoutMoney(state);
}

function isOver({ state, receipt, isAtRest, isRefunding }: KnownPayment): boolean {
  const isSettled = ['registered', 'cancelled', 'rejected'].includes(receipt);
  return hasEnded(state) && isSettled && isAtRest && !isRefunding;
}
