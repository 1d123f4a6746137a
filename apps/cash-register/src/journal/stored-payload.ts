import { digestOf, type OfdDocument } from '#fiscal-module';
import type { JournalEntry } from './journal.js';

/** A stored payload as an object; `null`: it is none. Nothing is known of its shape: a digest that was changed with it fits. */
export function readPayload(payload: string): object | null {
  try {
    const value: unknown = JSON.parse(payload);
    return typeof value === 'object' ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** A document of the journal, to be shown; `null`: it was damaged since it was written. */
export function readStoredDocument({ payload, digest }: Pick<JournalEntry, 'payload' | 'digest'>): OfdDocument | null {
  if (digestOf(payload) !== digest) return null;
  const document: Partial<OfdDocument> | null = readPayload(payload);
  return Array.isArray(document?.items) ? (document as OfdDocument) : null;
}
