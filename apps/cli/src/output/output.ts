import type { Writable } from 'node:stream';
import type { Colour, Colours } from './colours.js';
import { plain, tableLines, type Column } from './table.js';

export interface Streams {
  stdout: Writable;
  stderr: Writable;
}

/** Standard output carries the result alone; what is said about it goes to standard error. */
export class Output {
  constructor(
    private readonly streams: Streams,
    readonly colours: Colours,
    /** One JSON value per line, for programs. */
    readonly isJson: boolean,
  ) {}

  /** One thing: JSON, or a line for each of its facts. */
  record(value: object, facts: readonly (readonly [string, string | number | null | undefined])[]): void {
    if (this.isJson) return this.json(value);
    const width = Math.max(...facts.map(([name]) => name.length));
    for (const [name, fact] of facts) {
      if (fact === null || fact === undefined || fact === '') continue;
      this.line(`${this.paint('dim', name.padEnd(width))}  ${plain(String(fact))}`);
    }
  }

  table<Row extends object>(columns: readonly Column<Row>[], rows: readonly Row[]): void {
    if (this.isJson) return rows.forEach((row) => this.json(row));
    if (rows.length === 0) return this.note('Nothing.');
    const [head = '', ...lines] = tableLines(columns, rows);
    this.line(this.paint('bold', head));
    for (const line of lines) this.line(line);
  }

  json(value: unknown): void {
    this.line(JSON.stringify(value));
  }

  line(text: string): void {
    this.streams.stdout.write(`${text}\n`);
  }

  /** For people, beside the result. */
  note(text: string): void {
    this.streams.stderr.write(`${text}\n`);
  }

  paint(colour: Colour, text: string): string {
    return this.colours.paint(colour, text);
  }
}
