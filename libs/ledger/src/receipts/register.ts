import { Prisma } from '#database';
import { OFD_FUSE_HOURS } from '#fiscal-domain';
import { receiptEvents } from '../events.js';
import { receiptMove, type Statements } from '../statements.js';

const BY_PROVIDER = receiptMove('awaiting_payment', 'registered', 'payments');
const BY_OPERATOR = receiptMove('unknown', 'registered', 'operator');

/** The document that a payment provider has registered. */
export interface ProviderRegistration {
  terminalId: string;
  receiptSeq: number;
  fiscalSign: string;
  url: string;
  registeredAt: Date;
}

/**
 * awaiting_payment → registered by the provider's own document: of the sale, or of the refund that waits for it. Such a receipt
 * belongs to no device, so no lane can have it. Fails with SQLSTATE 23505 when another receipt is this very document.
 * @returns the receipt; none where it does not wait
 */
export async function registerByProvider(
  tx: Statements,
  saleId: string,
  which: 'sale' | 'refund',
  { terminalId, receiptSeq, fiscalSign, url, registeredAt }: ProviderRegistration,
): Promise<string[]> {
  const row =
    which === 'sale' ? Prisma.sql`r.id = ${saleId}` : Prisma.sql`r.refund_of = ${saleId} AND r.type = 'refund'`;
  const data = Prisma.sql`
    jsonb_build_object('receipt_id', id, 'terminal_id', ${terminalId}::text, 'receipt_seq', ${receiptSeq}::bigint,
                       'fiscal_sign', ${fiscalSign}::text, 'evidence', 'answer')`;
  const moved = await tx.$queryRaw<{ id: string }[]>`
    WITH moved AS (
      UPDATE receipts r
         SET ${BY_PROVIDER.set}, terminal_id = ${terminalId}, receipt_seq = ${receiptSeq}::bigint,
             fiscal_sign = ${fiscalSign}, verification_url = ${url}, registered_at = ${registeredAt}::timestamptz, evidence = 'answer',
             -- Lines that do not fit the provider's form were refused; it registers no buyer and no wallet.
             recorded_fields = CASE WHEN r.type = 'sale' AND jsonb_path_exists(r.document, '$.lines[*].commission.*')
                                    THEN ARRAY['commission'] ELSE '{}' END
       WHERE ${row} AND ${BY_PROVIDER.from} AND r.device_id IS NULL RETURNING r.id, r.merchant_id, r.type
    ), noted AS (${receiptEvents('registered', data)})
    SELECT id FROM moved`;
  return moved.map(({ id }) => id);
}

/** A registration as a person reads it from the register. */
export interface NamedRegistration {
  terminalId: string;
  receiptSeq: number;
  fiscalSign: string | null;
  verificationUrl: string | null;
  registeredAt: Date;
}

/** A person has found the receipt in a register. Fails with SQLSTATE 23505 when another receipt of the merchant has this sequence. */
export async function registerByOperator(
  tx: Statements,
  { receiptId, deviceId }: { receiptId: string; deviceId: string },
  { terminalId, receiptSeq, fiscalSign, verificationUrl, registeredAt }: NamedRegistration,
): Promise<boolean> {
  const at = registeredAt.toISOString();
  const moved = await tx.$executeRaw`
    UPDATE receipts r
       SET ${BY_OPERATOR.set}, device_id = ${deviceId}, terminal_id = ${terminalId}, receipt_seq = ${receiptSeq}::bigint,
           fiscal_sign = ${fiscalSign}, verification_url = ${verificationUrl},
           registered_at = ${at}::timestamptz, evidence = 'operator', ofd_status = 'pending',
           ofd_deadline_at = ${at}::timestamptz + make_interval(hours => ${OFD_FUSE_HOURS}::int4)
     WHERE r.id = ${receiptId} AND ${BY_OPERATOR.from}`;
  return moved === 1;
}

/** The sign of a registration that only counters have proved; written once. */
export async function completeFiscalSign(
  tx: Statements,
  receiptId: string,
  { fiscalSign, verificationUrl, registeredAt }: { fiscalSign: string; verificationUrl: string; registeredAt: Date },
): Promise<boolean> {
  const at = registeredAt.toISOString();
  const completed = await tx.$executeRaw`
    UPDATE receipts SET fiscal_sign = ${fiscalSign}, verification_url = ${verificationUrl},
                        registered_at = ${at}::timestamptz, updated_at = now(),
                        ofd_deadline_at = ${at}::timestamptz + (ofd_deadline_at - registered_at)
     WHERE id = ${receiptId} AND status = 'registered' AND fiscal_sign IS NULL`;
  return completed === 1;
}
