/** A person's number is not for everybody who is shown a receipt: its last four digits. */
export function maskedPinfl(pinfl: string): string {
  return `${'*'.repeat(Math.max(0, pinfl.length - 4))}${pinfl.slice(-4)}`;
}
