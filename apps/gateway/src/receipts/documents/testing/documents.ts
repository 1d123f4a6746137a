import fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import type { PrismaService, StoredReceiptDocument } from '#database';
import {
  buildVerificationLink,
  FISCAL_FIELDS,
  resolvedTotals,
  thousandths,
  tiyin,
  vatContained,
  type ReceiptLine,
  type ReceiptType,
} from '#fiscal-domain';
import { newId } from '#runtime';
import { ReceiptUrls } from '../../receipt-url.js';
import type { ShownReceipt } from '../shown-receipt.js';

type Line = Partial<Omit<ReceiptLine, 'quantity' | 'priceTiyin' | 'discountTiyin'>> & {
  quantity?: number;
  priceTiyin?: number;
  discountTiyin?: number;
};

/** A document as it would have been accepted; a third of it paid in cash. */
export function documentOf(lines: readonly Line[], type: ReceiptType = 'sale'): StoredReceiptDocument {
  const whole = lines.map(lineOf);
  const totals = resolvedTotals(whole);
  const cash = Math.floor(totals.totalTiyin / 3);
  return {
    ...{ ...totals, type, lines: whole },
    payment: {
      ...{ method: 'mixed', provider: null, cashTiyin: tiyin(cash) },
      cardTiyin: tiyin(totals.totalTiyin - cash),
    },
    customer: { phone: '998901112233', email: 'buyer@example.com', tin: '309999999', pinfl: '31234567890123' },
    ...{ refundInfo: null, metadata: { order: 'secret-note' }, callbackUrl: 'https://erp.example/private' },
  };
}

function lineOf(given: Line, index: number): ReceiptLine {
  const { quantity = 1_000, priceTiyin = 112_000, discountTiyin = 0, vatPercent = 12 } = given;
  const total = tiyin(Math.floor((priceTiyin * quantity + 500) / 1_000) - discountTiyin);
  return {
    ...{ sku: null, name: 'Non', spic: '01905001001000001', packageCode: '1500001', units: 796, barcode: null },
    ...{ labels: [], commission: null },
    ...given,
    ...{ line: index + 1, quantity: thousandths(quantity), priceTiyin: tiyin(priceTiyin), vatPercent },
    ...{ discountTiyin: tiyin(discountTiyin), totalTiyin: total, vatTiyin: vatContained(total, vatPercent) },
  };
}

/** Groceries with everything that a line can have. */
export const BASKET = documentOf([
  { name: 'Non «Toshkent» issiq, tandirdan yangi uzilgan katta non', quantity: 3_000, priceTiyin: 400_000 },
  { name: 'Хлеб ржаной ўзбекча Қўқон', quantity: 505, priceTiyin: 1_250_000, discountTiyin: 31_250, units: 166 },
  {
    ...{ name: 'Suv <b>"Hydrolife"</b> & Co 1,5 l', quantity: 2_000, priceTiyin: 650_000, barcode: '4780000000001' },
    labels: ['0104780000000001215abc<DEF\u001d93abcd', '0104780000000001215abc<DEG\u001d93abce'],
    commission: { tin: '301234567' },
  },
  { name: 'Yetkazib berish', priceTiyin: 1_500_000, vatPercent: 0, commission: { pinfl: '31234567890123' } },
]);

export const SIGN = '588153719670';

/** The basket as it was registered, unless given otherwise. */
export function shown(more: Partial<ShownReceipt> = {}): ShownReceipt {
  const id = newId('rcp');
  const terminalId = 'UZ191211506521';
  const parts = { terminalId, receiptSeq: 4711, compactTime: '20260102080405', fiscalSign: SIGN };
  return {
    ...{
      id,
      merchantId: newId('mer'),
      url: new ReceiptUrls('https://gateway.test', randomBytes(32)).urlOf(id),
      status: 'registered',
      type: 'sale',
    },
    createdAt: new Date('2026-01-02T03:04:01Z'),
    seller: {
      ...{ name: '“Savdo & Co” MChJ', tin: '301234567', phone: '+998 71 200 00 00' },
      address: 'Toshkent sh., Chilonzor tumani, Bunyodkor ko‘chasi 1',
    },
    document: BASKET,
    registration: {
      ...{ terminalId, receiptSeq: 4711n, fiscalSign: SIGN, isTest: false },
      verificationUrl: buildVerificationLink('https://ofd.soliq.uz/check', parts),
      registeredAt: new Date('2026-01-02T03:04:05Z'),
      ...{ shiftNumber: 17, recordedFields: FISCAL_FIELDS },
    },
    cashier: 'Anna Karimova',
    ...{ packageNames: new Map(), asOf: new Date('2026-01-05T06:07:08Z') },
    ...{ isOnItsWay: false, refundedTiyin: 0, related: [], sendWays: { email: false, sms: false, bot: null } },
    brand: { header: '', footer: '', logo: null },
    ...more,
  };
}

/** Any document that a register could have registered. */
export const anyDocument: fc.Arbitrary<StoredReceiptDocument> = fc
  .array(
    fc
      .record({
        name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 63 }),
        quantity: fc.integer({ min: 1, max: 2_000_000 }),
        priceTiyin: fc.integer({ min: 1, max: 1_000_000_000 }),
        vatPercent: fc.constantFrom(0 as const, 12 as const),
        share: fc.integer({ min: 0, max: 100 }),
        labels: fc.array(fc.stringMatching(/^[!-~]{20,60}$/), { maxLength: 3 }),
      })
      .map(({ share, ...line }) => {
        const gross = Math.floor((line.priceTiyin * line.quantity + 500) / 1_000);
        return { ...line, discountTiyin: Math.floor((gross * share) / 200) };
      }),
    { minLength: 1, maxLength: 12 },
  )
  .map((lines) => documentOf(lines));

export interface StoredReceipt {
  merchantId: string;
  deviceId?: string;
  status?: string;
  type?: ReceiptType;
  document?: StoredReceiptDocument;
  /** Default: registered as number 4711 of this terminal, if the status says so. */
  receiptSeq?: number;
  terminalId?: string;
  fiscalSign?: string | null;
  refundOf?: string;
  ofdStatus?: 'pending' | 'sent';
  evidence?: 'answer' | 'counters';
}

/** Writes a receipt as the gateway and a relay would have left it. @returns its id */
export async function storeReceipt(prisma: PrismaService, given: StoredReceipt): Promise<string> {
  const { status = 'registered', type = 'sale', document = BASKET, receiptSeq = 4711, fiscalSign = SIGN } = given;
  const id = newId('rcp');
  const { terminalId = 'UZ191211506521' } = given;
  const isRegistered = status === 'registered';
  const parts = { terminalId, receiptSeq, compactTime: '20260102080405', fiscalSign: fiscalSign ?? '' };
  const link = isRegistered && fiscalSign !== null ? buildVerificationLink('https://ofd.soliq.uz/check', parts) : null;
  await prisma.$executeRaw`
    INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, branch_id,
                          cashier_id, document, total_tiyin, vat_total_tiyin, refund_of, terminal_id, receipt_seq,
                          fiscal_sign, verification_url, registered_at, evidence, ofd_status, created_at)
    VALUES (${id}, ${given.merchantId}, 'cli_1', ${type === 'refund' ? 'refunds' : 'receipts'}, ${Buffer.alloc(32)},
            ${type}::receipt_type, ${status}::receipt_status, nextval('lane_place_seq'), ${given.deviceId ?? 'dev_1'},
            ${given.merchantId.replace('mer_', 'brn_')}, 'csh_1', ${JSON.stringify(document)}::jsonb,
            ${document.totalTiyin}::bigint, ${document.vatTotalTiyin}::bigint, ${given.refundOf ?? null},
            ${isRegistered ? terminalId : null}, ${isRegistered ? receiptSeq : null}::bigint,
            ${isRegistered ? fiscalSign : null}, ${link},
            ${isRegistered ? '2026-01-02T03:04:05Z' : null}::timestamptz,
            ${isRegistered ? (given.evidence ?? 'answer') : null}::evidence,
            ${isRegistered ? (given.ofdStatus ?? 'sent') : null}::ofd_status, '2026-01-02T03:04:01Z'::timestamptz)`;
  return id;
}
