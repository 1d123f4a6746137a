import { Inject, Injectable } from '@nestjs/common';
import type { ReceiptRow } from '#ledger';
import { BodyValidationPipe, Problem, problemOf } from '#http';
import { type Logger } from '#runtime';
import type { IsCallerGone } from '../http/caller-gone.js';
import { LOGGER } from '../tokens.js';
import { CreateReceipt } from './create-receipt.js';
import { answerFor } from './receipt-answer.js';
import { ReceiptBody } from './receipt-body.js';

export interface BatchCommand {
  merchantId: string;
  clientId: string;
  receipts: readonly object[];
  isCallerGone?: IsCallerGone;
}

/** What POST /v1/receipts would have answered for one receipt; both `row` and `problem` for one that its register refused. */
export interface BatchResult {
  externalId: string | null;
  status: number;
  row: ReceiptRow | null;
  problem: Problem | null;
  replayed: boolean;
}

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
  private readonly pipe = new BodyValidationPipe();

  constructor(
    private readonly createReceipt: CreateReceipt,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Results in the order of the receipts. */
  async execute({ receipts, ...client }: BatchCommand): Promise<BatchResult[]> {
    const results: BatchResult[] = [];
    for (let start = 0; start < receipts.length; start += AT_ONCE) {
      const some = receipts.slice(start, start + AT_ONCE);
      results.push(...(await Promise.all(some.map((receipt) => this.createOne(client, receipt)))));
    }
    return results;
  }

  private async createOne(client: Omit<BatchCommand, 'receipts'>, receipt: object): Promise<BatchResult> {
    const given = 'external_id' in receipt ? receipt.external_id : null;
    const externalId = typeof given === 'string' ? given : null;
    try {
      const body = this.pipe.transform(receipt, { type: 'body', metatype: ReceiptBody }) as ReceiptBody;
      // Nothing else would distinguish a repeated receipt from a new one.
      if (externalId === null) throw Problem.fromErrors([EXTERNAL_ID_MISSING]);
      const command = { ...client, idempotencyKey: null, body, waitSeconds: 0 };
      const { row, replayed } = await this.createReceipt.execute(command);
      const answer = answerFor(row);
      return answer.kind === 'rejected'
        ? { externalId, status: answer.problem.status, row, problem: answer.problem, replayed }
        : { externalId, status: answer.status, row, problem: null, replayed };
    } catch (error) {
      const problem = problemOf(error);
      if (problem.status >= 500) this.logger.error({ err: error, code: problem.code }, 'receipt of a batch failed');
      return { externalId, status: problem.status, row: null, problem, replayed: false };
    }
  }
}
