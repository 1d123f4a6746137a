/** One line of standard error that is drawn anew: a bar where the end is known, else a count. */
export class ProgressLine {
  private drawnAtMs = -Infinity;
  private readonly startedAtMs = performance.now();

  /** @param total rows; null = not known */
  constructor(
    private readonly output: { write(text: string): unknown; isTTY?: boolean },
    private readonly total: number | null,
  ) {}

  /** @param share of the work that is done, 0 to 1, where the total is not known */
  draw(rows: number, { share = null, rest = '' }: { share?: number | null; rest?: string } = {}): void {
    const nowMs = performance.now();
    // A file that takes the lines gets one every few seconds.
    if (nowMs - this.drawnAtMs < (this.output.isTTY ? 100 : 5_000)) return;
    this.drawnAtMs = nowMs;
    const perSecond = Math.round((rows * 1_000) / Math.max(nowMs - this.startedAtMs, 1));
    const text = `${this.bar(this.total === null ? share : rows / Math.max(this.total, 1))}${rows} rows, ${perSecond}/s${rest === '' ? '' : `, ${rest}`}`;
    this.output.write(this.output.isTTY ? `\r\u001b[2K${text}` : `${text}\n`);
  }

  end(): void {
    if (this.output.isTTY) this.output.write('\r\u001b[2K');
  }

  private bar(done: number | null): string {
    if (done === null) return '';
    const share = Math.min(done, 1);
    const full = Math.round(share * 30);
    return `[${'#'.repeat(full)}${'.'.repeat(30 - full)}] ${Math.floor(share * 100)} % `;
  }
}
