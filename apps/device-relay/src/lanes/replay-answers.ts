import type { Logger } from '#runtime';
import type { AnswerFiles } from './answer-files.js';
import type { SettledNotices } from './ports.js';
import type { RecordAnswer } from './record-answer.js';

/**
 * Records the answers that a relay had in hand when it stopped while the database was away. Meanwhile the attempt may have
 * been resolved by another relay or a person, or the database put back from a copy: then the answer is a late one, which
 * completes, proves or contradicts what was found (ports.ts, recordLateAnswer).
 */
export class ReplayAnswers {
  constructor(
    private readonly files: Pick<AnswerFiles, 'list' | 'read' | 'drop' | 'refuse'>,
    private readonly recorder: RecordAnswer,
    private readonly notices: SettledNotices,
    private readonly logger: Logger,
  ) {}

  /** @throws when the database is away: what is not recorded stays for the next call */
  async replay(): Promise<void> {
    for (const attemptId of await this.files.list()) await this.replayOne(attemptId);
  }

  private async replayOne(attemptId: string): Promise<void> {
    const answer = await this.files.read(attemptId).catch((error: unknown) => {
      this.logger.error({ err: error, attempt_id: attemptId }, 'a spooled answer cannot be read');
      return null;
    });
    if (!answer) return;
    const { receiptId, close } = answer;
    const recorded = await this.recorder.recordNow(answer);
    const outcome = recorded.kind === 'late' ? recorded.late : recorded.kind;
    const facts = { attempt_id: attemptId, receipt_id: receiptId, device_id: close.deviceId, outcome };
    if (outcome === 'sequence_taken' || outcome === 'no_receipt') {
      // Its attempt, if there is one, stays open: the lane resolves it. The register's answer stays for a person.
      this.logger.error({ ...facts, answer }, 'the ledger does not take a spooled answer');
      await this.files.refuse(attemptId);
      return;
    }
    this.logger.warn(facts, 'an answer that was in hand at the last stop is recorded');
    await this.files.drop(attemptId);
    this.notices.notify(receiptId);
  }
}
