import { SettingsError } from '#runtime';
import { ClassifierError } from './classifier/classifier.js';
import { DataFolderError } from './journal/database.js';

/** A start that cannot succeed ends with one sentence for what a person can mend, with a stack for what we must. */
export function explainAndExit(error: unknown): never {
  process.stderr.write(`${sentenceFor(error)}\n`);
  process.exit(1);
}

function sentenceFor(error: unknown): string {
  if (error instanceof SettingsError || error instanceof DataFolderError || error instanceof ClassifierError) {
    return error.message;
  }
  const { code, port, address } = error as { code?: unknown; port?: unknown; address?: unknown };
  const place = `${String(address)}:${String(port)}`;
  if (code === 'EADDRINUSE') return `Cannot start: ${place} is in use by another program; choose another port.`;
  if (code === 'EACCES') return `Cannot start: ${place} may not be opened by this user.`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
