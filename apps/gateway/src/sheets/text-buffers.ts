/** Enough that each is written to a socket in one go. */
const SIZE_BYTES = 64 * 1_024;
/** UTF-8 of one UTF-16 unit. */
const MOST_BYTES_PER_UNIT = 3;

/**
 * Gathers texts as bytes outside of V8's heap: a text is garbage as soon as it has been added, while it is still young and
 * costs nothing to clear away.
 */
export class TextBuffers {
  private readonly full: Buffer[] = [];
  private open = Buffer.allocUnsafeSlow(SIZE_BYTES);
  private used = 0;

  add(text: string): void {
    const mostBytes = text.length * MOST_BYTES_PER_UNIT;
    if (this.used + mostBytes > this.open.length) {
      this.close();
      if (mostBytes > this.open.length) this.open = Buffer.allocUnsafeSlow(mostBytes);
    }
    this.used += this.open.write(text, this.used);
  }

  /** What has been added, in order; nothing is left. */
  take(): Buffer[] {
    this.close();
    return this.full.splice(0);
  }

  private close(): void {
    if (this.used === 0) return;
    this.full.push(this.open.subarray(0, this.used));
    this.open = Buffer.allocUnsafeSlow(SIZE_BYTES);
    this.used = 0;
  }
}
