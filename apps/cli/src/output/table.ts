/** One column: its title, and what it shows of a row. */
export interface Column<Row> {
  title: string;
  of: (row: Row) => string | number | null | undefined;
  /** Numbers stand at the right. */
  isNumber?: boolean;
}

/** Lines of a table for people. What is missing is a dash, so that a column is never shifted. */
export function tableLines<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ of }) => textOf(of(row))))];
  const widths = columns.map((_, at) => Math.max(...cells.map((line) => lengthOf(line[at] ?? ''))));
  return cells.map((line) => {
    const padded = line.map((cell, at) => {
      const space = ' '.repeat((widths[at] ?? 0) - lengthOf(cell));
      return columns[at]?.isNumber === true ? space + cell : cell + space;
    });
    return padded.join('  ').trimEnd();
  });
}

/** Tiyin as so'm: `1 234 567.89`. */
export function somOf(tiyin: number): string {
  const whole = Math.trunc(Math.abs(tiyin) / 100)
    .toLocaleString('en')
    .replaceAll(',', ' ');
  return `${tiyin < 0 ? '-' : ''}${whole}.${String(Math.abs(tiyin) % 100).padStart(2, '0')}`;
}

/** Control characters of foreign text would move the cursor or change colours. */
export function plain(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ');
}

function textOf(value: string | number | null | undefined): string {
  return value === null || value === undefined || value === '' ? '-' : plain(String(value));
}

function lengthOf(text: string): number {
  return [...text].length;
}
