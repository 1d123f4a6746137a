import { Injectable } from '@nestjs/common';
import type { Prisma } from '#database';
import { parseVerificationLink, type ReceiptStatus, type ReceiptType, type VerificationLink } from '#fiscal-domain';
import { completeFiscalSign, writeReceiptEvent } from '#ledger';
import { Problem, type ProblemError } from '#problems';
import { AuditedChange } from '../audit/audited-change.js';
import type { Caller } from '../audit/caller.js';
import { missingReceipt } from '../receipts/missing-receipt.js';
import { linkFaults, linkTime } from './check-registration.js';

export interface CompleteFiscalCommand {
  caller: Caller;
  receiptId: string;
  fiscalSign: string;
  verificationUrl: string;
  reason: string;
}

interface RegisteredRow {
  status: ReceiptStatus;
  type: ReceiptType;
  terminal_id: string | null;
  receipt_seq: bigint | null;
  fiscal_sign: string | null;
  registered_at: Date | null;
  evidence: string | null;
}

/**
 * POST /v1/receipts/{id}/fiscal: the counters have proved a registration whose answer was lost, and they know no sign. A
 * person reads it from the register or the OFD.
 */
@Injectable()
export class CompleteFiscal {
  constructor(private readonly changes: AuditedChange) {}

  /** @throws Problem 404; 409 receipt_not_registered, fiscal_complete; 422 when link, sign and registration differ */
  async execute(command: CompleteFiscalCommand): Promise<void> {
    const { caller, receiptId, fiscalSign, verificationUrl, reason } = command;
    await this.changes.execute(caller, async (tx) => {
      const row = await lockReceipt(tx, caller.merchantId, receiptId);
      const receiptSeq = refuseUnlessIncomplete(row);
      const link = parseVerificationLink(verificationUrl);
      const faults = linkFaults({ receiptSeq, fiscalSign, verificationUrl });
      if (link !== null && link.terminalId !== row.terminal_id) faults.push(otherTerminal(link.terminalId, row));
      if (faults.length > 0) throw Problem.fromErrors(faults);
      const at = registrationTime(row, link) ?? new Date();
      if (!(await completeFiscalSign(tx, receiptId, { fiscalSign, verificationUrl, registeredAt: at })))
        throw new Problem('fiscal_complete');
      const registeredAt = at.toISOString();
      const fiscal = { fiscal_sign: fiscalSign, verification_url: verificationUrl, registered_at: registeredAt };
      const place = { terminal_id: row.terminal_id, receipt_seq: receiptSeq, evidence: row.evidence };
      await writeReceiptEvent(tx, receiptId, 'registered', { ...place, ...fiscal });
      return {
        result: null,
        action: 'receipt.complete_fiscal',
        targetId: receiptId,
        before: { ...place, fiscal_sign: null, registered_at: row.registered_at?.toISOString() ?? null },
        after: { ...fiscal, reason },
      };
    });
  }
}

async function lockReceipt(tx: Prisma.TransactionClient, merchantId: string, id: string): Promise<RegisteredRow> {
  const [row] = await tx.$queryRaw<RegisteredRow[]>`
    SELECT status, type, terminal_id, receipt_seq, fiscal_sign, registered_at, evidence
      FROM receipts WHERE id = ${id} AND merchant_id = ${merchantId} FOR UPDATE`;
  if (!row) throw await missingReceipt(tx, merchantId, id);
  return row;
}

/** @returns the receipt's sequence */
function refuseUnlessIncomplete(row: RegisteredRow): number {
  if (row.status !== 'registered' || row.receipt_seq === null) {
    throw new Problem('receipt_not_registered', `The receipt is ${row.status}; only a registered one has a sign.`);
  }
  if (row.type === 'advance' || row.type === 'credit') {
    throw new Problem('fiscal_complete', `A receipt of type ${row.type} has no fiscal sign and no link.`);
  }
  if (row.fiscal_sign !== null)
    throw new Problem('fiscal_complete', 'The receipt has a fiscal sign; it never changes.');
  return Number(row.receipt_seq);
}

/** Where the counters are the proof, the time on record is only the attempt's; the link knows better. */
function registrationTime(row: RegisteredRow, link: VerificationLink | null): Date | null {
  return row.evidence === 'counters' ? linkTime(link) : row.registered_at;
}

function otherTerminal(terminalId: string, row: RegisteredRow): ProblemError {
  const detail = `the link speaks of terminal ${terminalId} instead of ${row.terminal_id ?? 'none'}`;
  return { pointer: '/verification_url', code: 'contradicts_link', detail };
}
