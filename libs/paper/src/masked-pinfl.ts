/** The last four digits: a receipt is shown to others than the person. */
export function maskedPinfl(pinfl: string): string {
  return `${'*'.repeat(Math.max(0, pinfl.length - 4))}${pinfl.slice(-4)}`;
}
