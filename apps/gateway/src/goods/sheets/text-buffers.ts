import { Readable } from 'node:stream';

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

  /** What will not be added to any more, in order. */
  takeFull(): Buffer[] {
    return this.full.splice(0);
  }

  private close(): void {
    if (this.used === 0) return;
    this.full.push(this.open.subarray(0, this.used));
    this.open = Buffer.allocUnsafeSlow(SIZE_BYTES);
    this.used = 0;
  }
}

/** Of lines that come one by one. */
export async function* linesAsBytes(lines: AsyncIterable<string>): AsyncGenerator<Buffer[], void, undefined> {
  const text = new TextBuffers();
  for await (const line of lines) {
    text.add(line);
    const full = text.takeFull();
    if (full.length > 0) yield full;
  }
  yield text.take();
}

/** A file of text: a batch is asked for when the one before has been taken. */
export function textStream(batches: AsyncIterable<readonly Buffer[]>, head?: Buffer): Readable {
  async function* bytes(): AsyncGenerator<Buffer> {
    if (head !== undefined) yield head;
    for await (const batch of batches) yield* batch;
  }
  return Readable.from(bytes(), { highWaterMark: 1 });
}
