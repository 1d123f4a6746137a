import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '#runtime';
import type { AnswerInHand, AnswerSpool } from './record-answer.js';

const SUFFIX = '.json';
/** Of what no ledger takes: it stays for a person. */
const REFUSED_SUFFIX = '.refused';

interface AnswerFile {
  version: 1;
  answer: AnswerInHand;
}

/**
 * Answers in hand as files of a folder, one each, named by their attempt. A file has its name only when it is whole and on
 * disk. Several relays may share the folder: recording an answer twice changes nothing.
 */
export class AnswerFiles implements AnswerSpool {
  constructor(private readonly folder: string) {}

  async keep(answer: AnswerInHand): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    const path = this.pathOf(answer.close.attemptId);
    const part = `${path}.${process.pid}.part`;
    const file: AnswerFile = { version: 1, answer };
    await writeDurably(part, JSON.stringify(file));
    await rename(part, path);
    await syncFolder(this.folder);
  }

  async drop(attemptId: string): Promise<void> {
    await rm(this.pathOf(attemptId), { force: true });
  }

  /** Out of the way of the next start; a person reads it. */
  async refuse(attemptId: string): Promise<void> {
    await rename(this.pathOf(attemptId), this.pathOf(attemptId) + REFUSED_SUFFIX);
  }

  /** Attempts of which an answer waits here; none while there is no folder. */
  async list(): Promise<string[]> {
    const names = await readdir(this.folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    return names.filter((name) => name.endsWith(SUFFIX)).map((name) => name.slice(0, -SUFFIX.length));
  }

  /** Null: another relay has recorded it meanwhile. @throws when it cannot be read */
  async read(attemptId: string): Promise<AnswerInHand | null> {
    const text = await readFile(this.pathOf(attemptId), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (text === null) return null;
    const file = JSON.parse(text) as Partial<AnswerFile>;
    if (file.version !== 1 || file.answer?.close.attemptId !== attemptId)
      throw new Error(`${attemptId} is no answer of this version`);
    const { receiptId, close } = file.answer;
    // A relay of the release before wrote the receipt beside the result alone.
    return { receiptId, close: { ...close, receiptId } };
  }

  private pathOf(attemptId: string): string {
    return join(this.folder, attemptId + SUFFIX);
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}
