import type { AnswerInHand, AnswerSpool } from '../../record-answer.js';

/** The disk of a host: it outlives the relays that run there one after the other. */
export class SimulatedSpool implements AnswerSpool {
  private readonly files = new Map<string, string>();

  keep(answer: AnswerInHand): Promise<void> {
    this.files.set(answer.close.attemptId, JSON.stringify(answer));
    return Promise.resolve();
  }

  drop(attemptId: string): Promise<void> {
    this.files.delete(attemptId);
    return Promise.resolve();
  }

  refuse(attemptId: string): Promise<void> {
    return this.drop(attemptId);
  }

  list(): Promise<string[]> {
    return Promise.resolve([...this.files.keys()]);
  }

  read(attemptId: string): Promise<AnswerInHand | null> {
    const file = this.files.get(attemptId);
    return Promise.resolve(file === undefined ? null : (JSON.parse(file) as AnswerInHand));
  }
}
