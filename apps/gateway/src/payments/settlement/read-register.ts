import { MAX_TIYIN } from '#fiscal-domain';
import { ProductsFile } from '../../goods/catalog/files/products-file.js';
import { UnreadableFile, type SheetRow } from '../../goods/sheets/sheet-row.js';
import { findColumns, headingsMissing, type RegisterColumns, type RegisterForm } from './register-form.js';
import { addRow, readRow, type RegisterEntry, type RegisterRow } from './register-rows.js';

/** Kept in memory while it is compared: a month of a large shop, or a day of a chain. */
const MAX_ROWS = 100_000;
/** A file of which so many rows cannot be read is another file. */
const MAX_UNREADABLE = 1_000;

export interface ReadRegister {
  entries: RegisterEntry[];
  rows: number;
  leftOut: number;
  unreadable: { number: number; reason: string }[];
}

/** Reads a register in a thread of its own. @throws UnreadableFile */
export async function readRegister(
  file: { path: string; format: 'csv' | 'xlsx'; scratch: string },
  form: RegisterForm,
): Promise<ReadRegister> {
  const table = await ProductsFile.open({ ...file, isPlain: true });
  const reader = new RegisterReader(form);
  try {
    for await (const batch of table.batches()) for (const row of batch) reader.take(row);
  } finally {
    await table.close();
  }
  return reader.result();
}

class RegisterReader {
  private readonly entries = new Map<string, RegisterEntry>();
  private readonly unreadable: ReadRegister['unreadable'] = [];
  private columns: RegisterColumns | null = null;
  private before = 0;
  private rows = 0;
  private leftOut = 0;
  private totalTiyin = 0;

  constructor(private readonly form: RegisterForm) {}

  take(row: SheetRow): void {
    if (!this.columns) {
      this.columns = findColumns(row, this.form, this.before);
      this.before += 1;
      return;
    }
    this.rows += 1;
    if (this.rows > MAX_ROWS) throw new UnreadableFile(`The register has more than ${MAX_ROWS} rows; send it by day.`);
    const reading = readRow(row, this.columns, this.form);
    if (reading.kind === 'row') this.add(reading.row);
    else if (reading.kind === 'left_out') this.leftOut += 1;
    else this.note(reading);
  }

  /** Whatever is added up of the rows afterwards stays a whole number. */
  private add(row: RegisterRow): void {
    this.totalTiyin += row.paidTiyin + row.refundedTiyin + (row.commissionTiyin ?? 0);
    if (this.totalTiyin > MAX_TIYIN)
      throw new UnreadableFile(`The sums up to row ${row.number} are together more than ${MAX_TIYIN} tiyin.`);
    addRow(this.entries, row);
  }

  result(): ReadRegister {
    if (!this.columns) throw new UnreadableFile(headingsMissing());
    const { rows, leftOut, unreadable } = this;
    return { entries: [...this.entries.values()], rows, leftOut, unreadable };
  }

  private note({ number, reason }: { number: number; reason: string }): void {
    this.unreadable.push({ number, reason });
    if (this.unreadable.length > MAX_UNREADABLE)
      throw new UnreadableFile(`More than ${MAX_UNREADABLE} rows cannot be read; row ${number}: ${reason}.`);
  }
}
