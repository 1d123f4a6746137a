import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { UnreadableFile } from './sheet-row.js';

/** Of so many texts one has its place in memory; the others are found from it. */
const TEXTS_PER_MARK = 8;
/** What is gathered before it is written. */
const PIECE_BYTES = 64 * 1024;
/** What is read ahead. */
const WINDOW_BYTES = 16 * 1024;
const LENGTH_BYTES = 4;
/** More than 256 MiB of XML can hold where each has a letter; the file of them stays below the 4 GiB that a mark can name. */
const MAX_TEXTS = 16 * 1024 ** 2;

/**
 * Texts by their number, kept in a file: the shared texts of a large workbook are a hundred megabytes and more. Memory holds half a
 * byte for each of them and two pieces of the file. Add all of them, then `get` them; mostly in order, which needs few reads.
 */
export class TextTable {
  count = 0;
  private readonly folder: string;
  private readonly file: number;
  private marks = new Uint32Array(1_024);
  /** Filled again and again, as {@link buffer}: a buffer for each of millions of texts is garbage that nothing clears away in time. */
  private readonly piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  private pendingBytes = 0;
  private written = 0;
  /** Read into again and again: what a cell far away needs is garbage that V8 does not count as its heap. */
  private buffer = Buffer.allocUnsafeSlow(WINDOW_BYTES);
  private window = { start: 0, length: 0 };

  /** @param parent where its file is made */
  constructor(parent: string) {
    this.folder = mkdtempSync(join(parent, 'texts-'));
    this.file = openSync(join(this.folder, 'texts'), 'w+', 0o600);
  }

  /** @throws UnreadableFile beyond the last of {@link MAX_TEXTS} */
  add(text: string): void {
    if (this.count === MAX_TEXTS) throw new UnreadableFile(`The workbook has more than ${MAX_TEXTS} shared texts.`);
    if (this.count % TEXTS_PER_MARK === 0) this.mark();
    this.count += 1;
    const length = Buffer.byteLength(text);
    if (this.pendingBytes + LENGTH_BYTES + length > PIECE_BYTES) this.flush();
    this.pendingBytes = this.piece.writeUInt32LE(length, this.pendingBytes);
    if (this.pendingBytes + length <= PIECE_BYTES) {
      this.pendingBytes += this.piece.write(text, this.pendingBytes);
      return;
    }
    this.flush();
    this.written += writeSync(this.file, text);
  }

  /** Null: there is no such text. */
  get(index: number): string | null {
    if (!Number.isSafeInteger(index) || index < 0 || index >= this.count) return null;
    this.flush();
    let at = this.marks[Math.floor(index / TEXTS_PER_MARK)] ?? 0;
    for (let skipped = index % TEXTS_PER_MARK; skipped > 0; skipped -= 1) at += LENGTH_BYTES + this.lengthAt(at);
    const length = this.lengthAt(at);
    return this.bytesAt(at + LENGTH_BYTES, length).toString('utf8');
  }

  close(): void {
    closeSync(this.file);
    rmSync(this.folder, { recursive: true, force: true });
  }

  private mark(): void {
    const at = this.count / TEXTS_PER_MARK;
    if (at === this.marks.length) {
      const larger = new Uint32Array(2 * at);
      larger.set(this.marks);
      this.marks = larger;
    }
    this.marks[at] = this.written + this.pendingBytes;
  }

  private flush(): void {
    if (this.pendingBytes === 0) return;
    this.written += writeSync(this.file, this.piece, 0, this.pendingBytes);
    this.pendingBytes = 0;
  }

  private lengthAt(at: number): number {
    return this.bytesAt(at, LENGTH_BYTES).readUInt32LE();
  }

  /** Valid until the next call. */
  private bytesAt(at: number, length: number): Buffer {
    const { start, length: held } = this.window;
    if (at < start || at + length > start + held) {
      if (length > this.buffer.length) this.buffer = Buffer.allocUnsafeSlow(length);
      this.window = { start: at, length: readSync(this.file, this.buffer, 0, this.buffer.length, at) };
    }
    const from = at - this.window.start;
    return this.buffer.subarray(from, from + length);
  }
}
