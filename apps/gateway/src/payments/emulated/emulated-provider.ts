import { Prisma, type PrismaService } from '#database';
import { prefixOf, sandboxOutcomeOf, type SandboxOutcome } from '#fiscal-domain';
import {
  statusOf,
  type CallOutcome,
  type Instrument,
  type MoneyStatus,
  type NextAction,
  type PaymentOrder,
  type PaymentProvider,
  type PaymentRef,
  type RefundOrder,
} from '#payments';
import { idAt } from '../../http/id-times.js';
import { EMULATED_CAPABILITIES } from './emulated-capabilities.js';

interface EmulatedRow {
  status: MoneyStatus;
  amount: number;
  refunded: number;
  hold_until: Date | null;
}

/** After this a customer who was asked pays, or is declined. */
const CUSTOMER_SECONDS = 2;
/** So long a simulated provider knows a payment, and takes refunds of it. */
const KEPT_DAYS = 90;
const SWEPT_AT_ONCE = 20;
const DECLINED = { kind: 'refused', code: 'sandbox', detail: 'declined as the sandbox was asked' } as const;

/** As the row is at this moment: a customer who was asked has paid meanwhile. */
const COLUMNS = Prisma.raw(`
  CASE WHEN status = 'pending' AND customer_at <= now() THEN after_customer ELSE status END AS status,
  amount_tiyin::float8 AS amount, refunded_tiyin::float8 AS refunded, hold_until`);
const IS_HELD = Prisma.raw(`
  (status = 'authorized' OR (status = 'pending' AND customer_at <= now() AND after_customer = 'authorized'))`);
const IS_TAKEN = Prisma.raw(`
  (status = 'captured' OR (status = 'pending' AND customer_at <= now() AND after_customer = 'captured'))`);

/** The provider of a sandbox's account. It keeps its payments in PostgreSQL, and reaches nothing and no one else. */
export class EmulatedProvider implements PaymentProvider {
  constructor(
    private readonly merchantId: string,
    private readonly prisma: PrismaService,
  ) {}

  async authorize(order: PaymentOrder, instrument: Instrument, ref: PaymentRef): Promise<CallOutcome> {
    const known = await this.read(ref);
    if (known) return outcomeOf(known, ref, null);
    const forced = await this.forcedOn(ref.ourRef);
    const isDeclined = forced?.kind === 'payment_declined';
    const isHold = ref.flow === 'hold';
    const asksCustomer = ref.flow === 'invoice';
    const status = isDeclined ? 'declined' : isHold ? 'authorized' : 'captured';
    const seconds = forced?.kind === 'hold_expired' ? 0 : (EMULATED_CAPABILITIES.holdSeconds ?? 0);
    const [row] = await this.prisma.$queryRaw<EmulatedRow[]>`
      INSERT INTO emulated_payments (payment_id, merchant_id, status, after_customer, customer_at, amount_tiyin, hold_until)
      VALUES (${ref.ourRef}, ${this.merchantId}, ${asksCustomer ? 'pending' : status}, ${asksCustomer ? status : null},
              ${asksCustomer ? Prisma.sql`now() + make_interval(secs => ${CUSTOMER_SECONDS}::int4)` : null}, ${order.amountTiyin}::int8,
              ${isHold ? Prisma.sql`now() + make_interval(secs => ${seconds}::int4)` : null})
      ON CONFLICT (payment_id) DO NOTHING
      RETURNING ${COLUMNS}`;
    // Another gateway has asked at the same moment: its answer is that of both.
    if (!row) return this.fetchStatus(ref);
    await this.sweep();
    if (isDeclined && !asksCustomer) return DECLINED;
    return outcomeOf(row, ref, asksCustomer ? askedBy(instrument, ref) : null);
  }

  async capture(ref: PaymentRef): Promise<CallOutcome> {
    const [row] = await this.prisma.$queryRaw<EmulatedRow[]>`
      UPDATE emulated_payments SET status = 'captured'
       WHERE payment_id = ${ref.ourRef} AND ${IS_HELD} AND (hold_until IS NULL OR hold_until > now()) RETURNING ${COLUMNS}`;
    return row ? outcomeOf(row, ref, null) : this.fetchStatus(ref);
  }

  async void(ref: PaymentRef): Promise<CallOutcome> {
    const [row] = await this.prisma.$queryRaw<EmulatedRow[]>`
      UPDATE emulated_payments SET status = 'voided'
       WHERE payment_id = ${ref.ourRef} AND NOT ${IS_TAKEN} AND status IN ('pending', 'authorized') RETURNING ${COLUMNS}`;
    return row ? outcomeOf(row, ref, null) : this.fetchStatus(ref);
  }

  /** Each refund once, and no more than was taken. */
  async refund(ref: PaymentRef, { amountTiyin, key }: RefundOrder): Promise<CallOutcome> {
    const [row] = await this.prisma.$queryRaw<EmulatedRow[]>`
      UPDATE emulated_payments
         SET refunded_tiyin = refunded_tiyin + ${amountTiyin}::int8, refund_keys = array_append(refund_keys, ${key}),
             status = CASE WHEN refunded_tiyin + ${amountTiyin}::int8 = amount_tiyin THEN 'refunded' ELSE 'captured' END
       WHERE payment_id = ${ref.ourRef} AND ${IS_TAKEN} AND NOT ${key} = ANY (refund_keys)
         AND refunded_tiyin + ${amountTiyin}::int8 <= amount_tiyin RETURNING ${COLUMNS}`;
    if (row) return { ...outcomeOf(row, ref, null), status: 'refunded' };
    const [before] = await this.prisma.$queryRaw<(EmulatedRow & { is_made: boolean })[]>`
      SELECT ${COLUMNS}, ${key} = ANY (refund_keys) AS is_made FROM emulated_payments WHERE payment_id = ${ref.ourRef}`;
    if (before?.is_made === true) return { ...outcomeOf(before, ref, null), status: 'refunded' };
    return { kind: 'refused', code: 'sandbox', detail: 'so much was not taken' };
  }

  async fetchStatus(ref: PaymentRef): Promise<CallOutcome> {
    const row = await this.read(ref);
    return row ? outcomeOf(row, ref, null) : statusOf('not_found');
  }

  /** With each new payment a few that are too old: as many rows stay as a sandbox makes in that time. */
  private async sweep(): Promise<void> {
    const before = idAt(prefixOf('pay', this.merchantId), new Date(Date.now() - KEPT_DAYS * 86_400_000), -1);
    await this.prisma.$executeRaw`
      DELETE FROM emulated_payments WHERE payment_id IN (
        SELECT payment_id FROM emulated_payments
         WHERE merchant_id = ${this.merchantId} AND payment_id < ${before} ORDER BY payment_id LIMIT ${SWEPT_AT_ONCE})`;
  }

  private async read({ ourRef }: PaymentRef): Promise<EmulatedRow | null> {
    const [row] = await this.prisma.$queryRaw<EmulatedRow[]>`
      SELECT ${COLUMNS} FROM emulated_payments WHERE payment_id = ${ourRef}`;
    return row ?? null;
  }

  /** Read from the ledger: what a provider is given has no metadata. */
  private async forcedOn(paymentId: string): Promise<SandboxOutcome | null> {
    const [row] = await this.prisma.$queryRaw<{ metadata: string | null; price: number | null }[]>`
      SELECT r.document->'metadata'->>'sandbox' AS metadata, (r.document->'lines'->0->>'priceTiyin')::float8 AS price
        FROM payments p JOIN receipts r ON r.id = p.receipt_id
       WHERE p.id = ${paymentId} AND p.merchant_id = ${this.merchantId}`;
    return row ? sandboxOutcomeOf(row.metadata, row.price) : null;
  }
}

function outcomeOf(row: EmulatedRow, ref: PaymentRef, nextAction: NextAction | null): ReturnType<typeof statusOf> {
  return statusOf(row.status, {
    providerRef: `sandbox-${ref.ourRef}`,
    amountTiyin: row.amount,
    refundedTiyin: row.refunded,
    holdExpiresAtMs: row.hold_until?.getTime() ?? null,
    nextAction,
  });
}

/** The page leads nowhere, as the address of a test receipt does. */
function askedBy({ phone }: Instrument, { ourRef }: PaymentRef): NextAction {
  return phone === null ? { type: 'redirect', url: `https://sandbox.invalid/pay/${ourRef}` } : { type: 'push' };
}
