import { Inject, Injectable } from '@nestjs/common';
import type { ReceiptRow } from '#ledger';
import { Problem, problemOf } from '#problems';
import type { Logger } from '#runtime';
import { checkShape } from '#shapes';
import type { IsCallerGone } from '../http/caller-gone.js';
import { LOGGER } from '../tokens.js';
import { CreateReceipt, type CreateReceiptCommand, type ReadyReceipt } from './create-receipt.js';
import { ReceiptBody } from './receipt-body.js';

export interface BatchCommand {
  merchantId: string;
  clientId: string;
  receipts: readonly object[];
  /** What a single call could have sent: more may be more than its register takes. */
  maxReceiptBytes: number;
  isCallerGone?: IsCallerGone;
}

/** What became of one receipt: stored now or before, or the reason why not. */
export type BatchResult =
  | { kind: 'stored'; externalId: string | null; row: ReceiptRow; replayed: boolean }
  | { kind: 'refused'; externalId: string | null; problem: Problem };

type Prepared =
  | { kind: 'prepared'; externalId: string; command: CreateReceiptCommand; ready: ReadyReceipt }
  | Extract<BatchResult, { kind: 'refused' }>;

/** Receipts of a batch in work together: enough to be written in one group, few enough to leave capacity for others. */
const AT_ONCE = 50;
const EXTERNAL_ID_MISSING = {
  pointer: '/external_id',
  code: 'required',
  detail: 'external_id is required for each receipt of a batch',
};

/**
 * POST /v1/receipts/batch: each receipt for itself, known by its external_id; no request waits for a register. When the process
 * dies half-way, or one of them cannot be stored, the whole batch is sent again: what is stored is only read.
 */
@Injectable()
export class CreateBatch {
  constructor(
    private readonly createReceipt: CreateReceipt,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Results in the order of the receipts. */
  async execute({ receipts, ...batch }: BatchCommand): Promise<BatchResult[]> {
    const results: BatchResult[] = [];
    for (let start = 0; start < receipts.length; start += AT_ONCE) {
      const some = receipts.slice(start, start + AT_ONCE);
      const prepared = await Promise.all(some.map((receipt) => this.prepareOne(batch, receipt)));
      // Only now, so that they stand in their lanes in the order of the batch, however long each took to prepare.
      results.push(...(await Promise.all(prepared.map((each) => this.storeOne(each)))));
    }
    return results;
  }

  private async prepareOne(
    { maxReceiptBytes, ...client }: Omit<BatchCommand, 'receipts'>,
    receipt: object,
  ): Promise<Prepared> {
    const given = 'external_id' in receipt ? receipt.external_id : null;
    const externalId = typeof given === 'string' ? given : null;
    const shaped = checkShape(ReceiptBody, receipt);
    if (shaped.kind === 'refused') return { kind: 'refused', externalId, problem: shaped.problem };
    // Nothing else would distinguish a repeated receipt from a new one.
    if (externalId === null) {
      return { kind: 'refused', externalId, problem: Problem.fromErrors([EXTERNAL_ID_MISSING]) };
    }
    try {
      const command = { ...client, idempotencyKey: null, body: shaped.value, waitSeconds: 0 };
      const ready = await this.createReceipt.prepare(command, tooLarge(receipt, maxReceiptBytes));
      return { kind: 'prepared', externalId, command, ready };
    } catch (error) {
      return this.failed(externalId, error);
    }
  }

  private async storeOne(prepared: Prepared): Promise<BatchResult> {
    if (prepared.kind === 'refused') return prepared;
    const { externalId, ready, command } = prepared;
    try {
      return { kind: 'stored', externalId, ...(await this.createReceipt.store(ready, command)) };
    } catch (error) {
      return this.failed(externalId, error);
    }
  }

  private failed(externalId: string, error: unknown): Extract<BatchResult, { kind: 'refused' }> {
    const problem = problemOf(error);
    if (!problem.isRefusal) this.logger.error({ err: error, code: problem.code }, 'receipt of a batch failed');
    return { kind: 'refused', externalId, problem };
  }
}

function tooLarge(receipt: object, maxBytes: number): Problem | null {
  if (Buffer.byteLength(JSON.stringify(receipt)) <= maxBytes) return null;
  return new Problem('payload_too_large', `A receipt may have ${maxBytes} bytes, in a batch as well.`);
}
