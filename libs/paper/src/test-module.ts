/** A test module's receipts must never pass for fiscal ones. */
export function isTestModule(terminalId: string): boolean {
  return terminalId.startsWith('ZZ');
}
