import { MAX_UNITS } from '#fiscal-domain';
import type { SheetRow } from '../sheets/sheet-row.js';

export interface EntryNames {
  ru?: string;
  uz?: string;
  en?: string;
}

/** What a source says of a code. What it does not say stays as it was: no source is complete. */
export interface EntryPatch {
  spic: string;
  name: EntryNames;
  packages?: { code: string; name: string }[];
  units?: number;
  marked?: boolean;
  cash_allowed?: boolean;
  vat_percents?: number[];
  active?: boolean;
  /** When the source changed it, as its feed says: RFC 3339. */
  changed_at?: string;
}

export type Reading = { kind: 'ok'; patch: EntryPatch; atMs: number | null } | { kind: 'rejected'; reason: string };

const MAX_NAME_LENGTH = 2_000;

type Column = 'spic' | 'name' | 'package_code' | 'package_name' | 'units' | 'marked' | 'cash' | 'active';

/** Headings of the public workbooks in three languages, folded; headings that are not here are left alone. */
const HEADINGS: Readonly<Record<Column, readonly string[]>> = {
  spic: ['икпу', 'код икпу', 'мхик', 'mxik', 'mxik kodi', 'mxik code', 'spic', 'ikpu', 'ikpu code'],
  name: ['наименование', 'название', 'наименование икпу', 'название икпу', 'nomi', 'mxik nomi', 'номи', 'name'],
  package_code: ['код упаковки', 'qadoq kodi', 'package code'],
  package_name: ['упаковка', 'наименование упаковки', 'название упаковки', 'qadoq nomi', 'package name'],
  units: ['код единицы измерения', 'единица измерения', 'oʻlchov birligi kodi', 'unit code', 'units'],
  marked: ['маркировка', 'маркируемый', 'markirovka', 'label', 'marked'],
  cash: ['наличные', 'продажа за наличные', 'naqd', 'cash sale', 'cash allowed', 'cash'],
  active: ['активен', 'активность', 'статус', 'holati', 'status', 'is active', 'active'],
};

/** Where the columns are; null when the row is no heading of such a workbook. */
export type Columns = ReadonlyMap<Column, number>;

export function columnsOf(row: SheetRow): Columns | null {
  const columns = new Map<Column, number>();
  for (const [index, cell] of row.cells.entries()) {
    const heading = fold(cell ?? '');
    for (const [column, headings] of Object.entries(HEADINGS) as [Column, readonly string[]][])
      if (headings.includes(heading) && !columns.has(column)) columns.set(column, index);
  }
  return columns.has('spic') ? columns : null;
}

function fold(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}ʻ]+/gu, ' ')
    .trim();
}

/** @param language of the names in this workbook */
export function readWorkbookRow(row: SheetRow, columns: Columns, language: 'ru' | 'uz'): Reading {
  if (row.faults.length > 0) return rejected(row.faults.join('; '));
  const cell = (column: Column): string | null => row.cells[columns.get(column) ?? -1]?.trim() ?? null;
  const spic = cell('spic') ?? '';
  if (!isSpic(spic)) return rejected(`${JSON.stringify(spic.slice(0, 40))} is no code of 17 digits`);
  const name = cell('name');
  if (name !== null && name.length > MAX_NAME_LENGTH) return rejected('the name is too long');
  const packageCode = cell('package_code');
  const units: unknown = Number(cell('units') ?? Number.NaN);
  const patch: EntryPatch = {
    spic,
    name: name === null || name === '' ? {} : { [language]: name },
    ...(packageCode !== null && /^\d{1,20}$/.test(packageCode)
      ? { packages: [{ code: packageCode, name: cell('package_name') ?? '' }] }
      : {}),
    ...(isUnits(units) ? { units } : {}),
    ...flag('marked', cell('marked')),
    ...flag('cash_allowed', cell('cash')),
    ...flag('active', cell('active')),
  };
  return { kind: 'ok', patch, atMs: null };
}

/** An object of the change feed: field names differ between the register's own pages, so several are known. */
export function readFeedItem(item: unknown): Reading {
  if (typeof item !== 'object' || item === null) return rejected('not an object');
  const source = item as Record<string, unknown>;
  const first = (...names: string[]): unknown =>
    names.map((name) => source[name]).find((value) => value !== undefined && value !== null);
  const spic = textOf(first('mxik', 'mxikCode', 'mxik_code', 'spic'));
  if (spic === null || !isSpic(spic)) return rejected(`${JSON.stringify(spic)} is no code of 17 digits`);
  const packages = first('packageNames', 'packages');
  const date = textOf(first('updatedAt', 'updateDate', 'updated_at', 'date', 'createdAt'));
  const patch: EntryPatch = {
    spic,
    name: namesOf({
      ru: textOf(first('nameRu', 'mxikNameRu', 'mxikName', 'name')),
      uz: textOf(first('nameUz', 'mxikNameUz', 'nameUzLatn', 'nameLat')),
      en: textOf(first('nameEn', 'mxikNameEn')),
    }),
    ...(Array.isArray(packages) ? { packages: packages.flatMap(packageOf) } : {}),
    ...flag('marked', first('label', 'isLabel', 'marked')),
    ...flag('cash_allowed', first('cashSale', 'cash_allowed')),
    ...flag('active', first('isActive', 'active', 'status')),
  };
  const atMs = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(atMs)) return { kind: 'ok', patch, atMs: null };
  return { kind: 'ok', patch: { ...patch, changed_at: new Date(atMs).toISOString() }, atMs };
}

/** A line of our own export format (docs/catalog.md). */
export function readEntryLine(text: string): Reading {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return rejected('not JSON');
    throw error;
  }
  const reading = readFeedItem(value);
  if (reading.kind === 'rejected') return reading;
  const { name, units, vat_percents: vat } = value as Record<string, unknown>;
  const names = typeof name === 'object' && name !== null ? (name as Record<string, unknown>) : {};
  const patch: EntryPatch = {
    ...reading.patch,
    name: namesOf({ ru: textOf(names['ru']), uz: textOf(names['uz']), en: textOf(names['en']) }),
    ...(isUnits(units) ? { units } : {}),
    ...(Array.isArray(vat) && vat.every((percent) => percent === 0 || percent === 12)
      ? { vat_percents: vat as number[] }
      : {}),
  };
  return { kind: 'ok', patch, atMs: null };
}

/** The later one wins; packages of several rows of one file add up. */
export function mergePatches(a: EntryPatch, b: EntryPatch, { addPackages }: { addPackages: boolean }): EntryPatch {
  const merged = { ...a, ...b, name: { ...a.name, ...b.name } };
  if (!addPackages || !a.packages || !b.packages) return merged;
  const packages = new Map([...a.packages, ...b.packages].map((each) => [each.code, each]));
  return { ...merged, packages: [...packages.values()] };
}

function packageOf(value: unknown): { code: string; name: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  const source = value as Record<string, unknown>;
  const code = textOf(source['code'] ?? source['packageCode']);
  const name = textOf(source['nameRu'] ?? source['name'] ?? source['packageName']);
  return code !== null && /^\d{1,20}$/.test(code) ? [{ code, name: name ?? '' }] : [];
}

function namesOf(names: Record<'ru' | 'uz' | 'en', string | null>): EntryNames {
  return Object.fromEntries(
    Object.entries(names).filter(([, name]) => name !== null && name !== '' && name.length <= MAX_NAME_LENGTH),
  );
}

function textOf(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  // What PostgreSQL cannot hold is dropped, not refused: the rest of the entry is right.
  return typeof value === 'string' ? value.replaceAll(/\0|\p{Cs}/gu, '').trim() : null;
}

const YES = new Set(['1', 'true', 'да', 'ha', 'yes', '+', 'активный', 'активен', 'faol', 'active']);
const NO = new Set(['0', 'false', 'нет', 'yoq', 'no', '-', 'неактивный', 'не активен', 'nofaol', 'inactive']);

function flag<Name extends string>(name: Name, value: unknown): Partial<Record<Name, boolean>> {
  const text = typeof value === 'boolean' || typeof value === 'number' ? String(value) : textOf(value);
  const word = text?.toLowerCase().replaceAll(/['ʻ‘’`]/g, '') ?? '';
  if (YES.has(word)) return { [name]: true } as Record<Name, boolean>;
  return NO.has(word) ? ({ [name]: false } as Record<Name, boolean>) : {};
}

function isSpic(text: string): boolean {
  return /^\d{17}$/.test(text);
}

function rejected(reason: string): Reading {
  return { kind: 'rejected', reason };
}

/** What the column holds and a receipt may carry; a source's other numbers are no unit. */
function isUnits(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_UNITS;
}
