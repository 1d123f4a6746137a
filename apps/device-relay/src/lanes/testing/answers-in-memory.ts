import { createLogger } from '#runtime';
import type { LaneStore } from '../ports.js';
import { RecordAnswer, type AnswerSpool } from '../record-answer.js';

const NO_SPOOL: AnswerSpool = { keep: () => Promise.resolve(), drop: () => Promise.resolve() };

/** Answers of a relay whose database stays: nothing has to outlive it. */
export function answersInMemory(store: LaneStore, pause: (ms: number) => Promise<void>): RecordAnswer {
  return new RecordAnswer(store, NO_SPOOL, createLogger('test', 'silent'), pause);
}
