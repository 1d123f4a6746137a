import { Inject, Injectable } from '@nestjs/common';
import { PrismaService, RECEIPT_SETTLED_CHANNEL } from '#database';
import { parkAttempt } from '#ledger';
import { LaneBell } from '#queue';
import { Problem } from '#problems';
import { type Logger } from '#runtime';
import { AuditedChange } from '../audit/audited-change.js';
import type { Caller } from '../audit/caller.js';
import { LOGGER } from '../tokens.js';
import { OperatorRepository } from './operator.repository.js';

export interface ParkAttemptCommand {
  caller: Caller;
  attemptId: string;
  reason: string;
}

/**
 * POST /v1/operator/attempts/{id}/park: an open attempt that blocks its lane becomes `unknown`, and the lane goes on.
 *
 * The relay may be at work on it at this moment. Its answer then finds the attempt closed and is recorded as a late one:
 * it proves the receipt registered. A request that is still asleep would pass for the next receipt on a register without
 * idempotency keys, so such a lane waits out the settle time before it sends again.
 */
@Injectable()
export class ParkAttempt {
  constructor(
    private readonly changes: AuditedChange,
    private readonly rows: OperatorRepository,
    private readonly prisma: PrismaService,
    private readonly bell: LaneBell,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** @throws Problem 404; 409 attempt_closed */
  async execute({ caller, attemptId, reason }: ParkAttemptCommand): Promise<{ receiptId: string }> {
    const parked = await this.changes.execute(caller, async (tx) => {
      const attempt = await this.rows.lockAttempt(tx, caller.merchantId, attemptId);
      if (!attempt) throw new Problem('not_found', 'There is no attempt with this id.');
      const mustSettle = attempt.baseline.journalId === null;
      const evidence = { why: `parked by an operator: ${reason}`, parked_by: caller.actor };
      if (attempt.state !== 'open' || !(await parkAttempt(tx, attempt, { evidence, mustSettle }))) {
        throw new Problem(
          'attempt_closed',
          `The attempt is ${attempt.state}, its receipt ${attempt.receiptStatus}; only an open one can be parked.`,
        );
      }
      const { receiptId, deviceId } = attempt;
      return {
        result: { receiptId, deviceId },
        action: 'attempt.park',
        targetId: attemptId,
        before: { attempt_state: 'open', receipt_id: receiptId, receipt_status: attempt.receiptStatus },
        after: { attempt_state: 'unknown', receipt_status: 'unknown', must_settle: mustSettle, reason },
      };
    });
    this.bell.ring(parked.deviceId);
    await this.notifyWaiting(parked.receiptId);
    return parked;
  }

  /** The client that posted the receipt may still wait for it. A lost notice is made up for at its deadline. */
  private async notifyWaiting(receiptId: string): Promise<void> {
    try {
      await this.prisma.$executeRaw`SELECT pg_notify(${RECEIPT_SETTLED_CHANNEL}, ${receiptId})`;
    } catch (error) {
      this.logger.warn({ err: error, receipt_id: receiptId }, 'notice lost; the caller reads at its deadline');
    }
  }
}
