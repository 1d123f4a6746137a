import type { PrismaService, StoredReceiptDocument } from '#database';
import { tiyin, type ReceiptLine } from '#fiscal-domain';
import { newId } from '#runtime';

export interface TestReceipt {
  merchantId: string;
  id?: string;
  status?: string;
  type?: string;
  operation?: string;
  refundInfo?: StoredReceiptDocument['refundInfo'];
  refundOf?: string;
  externalId?: string | null;
  deviceId?: string;
  branchId?: string;
  cashierId?: string;
  totalTiyin?: number;
  cashTiyin?: number;
  vatPercent?: 0 | 12;
  vatTiyin?: number;
  name?: string;
  createdAt?: string;
  registeredAt?: string;
  terminalId?: string;
  receiptSeq?: number;
  shiftNumber?: number;
  callbackUrl?: string | null;
}

let sequence = 0;

/** Writes a receipt as the gateway and a relay would have left it. @returns its id */
export async function writeReceipt(prisma: PrismaService, given: TestReceipt): Promise<string> {
  const { id = newId('rcp'), status = 'registered', type = 'sale', totalTiyin = 112_000 } = given;
  const isRegistered = status === 'registered';
  sequence += 1;
  const createdAt = given.createdAt ?? new Date().toISOString();
  await prisma.$executeRaw`
    INSERT INTO receipts (id, merchant_id, client_id, operation, external_id, body_hash, type, status, lane_place, device_id,
                          branch_id, cashier_id, document, total_tiyin, vat_total_tiyin, terminal_id, receipt_seq,
                          registered_at, evidence, created_at, refund_of, shift_number)
    VALUES (${id}, ${given.merchantId}, 'cli_1', ${given.operation ?? 'receipts'}, ${given.externalId ?? null}, ${Buffer.alloc(32)},
            ${type}::receipt_type, ${status}::receipt_status, nextval('lane_place_seq'), ${given.deviceId ?? 'dev_1'},
            ${given.branchId ?? 'brn_1'}, ${given.cashierId ?? 'csh_1'}, ${JSON.stringify(documentOf(given))}::jsonb,
            ${totalTiyin}::bigint, ${given.vatTiyin ?? 12_000}::bigint,
            ${isRegistered ? (given.terminalId ?? 'UZ000000000001') : null}, ${isRegistered ? (given.receiptSeq ?? sequence) : null}::bigint,
            ${isRegistered ? (given.registeredAt ?? createdAt) : null}::timestamptz,
            ${isRegistered ? 'answer' : null}::evidence, ${createdAt}::timestamptz, ${given.refundOf ?? null}, ${given.shiftNumber ?? null}::int4)`;
  return id;
}

function documentOf(given: TestReceipt): StoredReceiptDocument {
  const { totalTiyin = 112_000, vatTiyin = 12_000, vatPercent = 12, cashTiyin = totalTiyin, name = 'Non' } = given;
  const line: ReceiptLine = {
    ...{ line: 1, sku: null, name, quantity: 1_000 as ReceiptLine['quantity'], priceTiyin: tiyin(totalTiyin) },
    ...{ discountTiyin: tiyin(0), totalTiyin: tiyin(totalTiyin), vatPercent, vatTiyin: tiyin(vatTiyin) },
    ...{ spic: '01905001001000001', packageCode: '1500001', units: 796, barcode: null, labels: [], commission: null },
  };
  return {
    type: 'sale',
    lines: [line],
    payment: {
      ...{ method: 'mixed', provider: null, cashTiyin: tiyin(cashTiyin) },
      cardTiyin: tiyin(totalTiyin - cashTiyin),
    },
    ...{ totalTiyin: tiyin(totalTiyin), vatTotalTiyin: tiyin(vatTiyin), customer: null },
    ...{ refundInfo: given.refundInfo ?? null, metadata: null, callbackUrl: given.callbackUrl ?? null },
  };
}
