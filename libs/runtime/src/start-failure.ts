/** A start that cannot succeed for a reason that its operator can mend. The message is one sentence for the console. */
export class StartFailure extends Error {
  override readonly name: string = 'StartFailure';
}

/** @returns the sentence for the operator; null: a surprise */
export function sentenceOfStart(error: unknown): string | null {
  if (error instanceof StartFailure) return error.message;
  const { code, port, address } = error as { code?: unknown; port?: unknown; address?: unknown };
  const place = `${String(address)}:${String(port)}`;
  if (code === 'EADDRINUSE') return `Cannot start: ${place} is in use by another program; choose another port.`;
  if (code === 'EADDRNOTAVAIL') return `Cannot start: this machine has no address ${String(address)}.`;
  if (code === 'EACCES') return `Cannot start: ${place} may not be opened by this user.`;
  return null;
}
