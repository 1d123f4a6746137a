import type { SheetRow } from '../../sheets/sheet-row.js';
import { UnreadableFile } from '../../sheets/sheet-row.js';
import type { Cell } from '../../sheets/xlsx-writer.js';
import type { ProductView } from '../product-view.js';

export const FILE_FORMATS = ['csv', 'xlsx', 'jsonl'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** Columns of a table of products, in the order in which they are written. */
export const COLUMN_NAMES = [
  'sku',
  'name_ru',
  'name_uz',
  'name_en',
  'aliases',
  'barcodes',
  'spic',
  'package_code',
  'units',
  'vat_percent',
  'price',
  'marked',
  'cash_allowed',
  'owner_type',
  'commission_tin',
  'commission_pinfl',
  'attributes',
] as const;

/** Added to rejected rows; left out of account when they come back. */
export const REASONS_COLUMN = 'reasons';
/** Between the values of one cell. */
const SEPARATOR = '|';
const ALIASES: Readonly<Record<string, string>> = { name: 'name_ru', barcode: 'barcodes', alias: 'aliases' };

/** @throws UnreadableFile naming what is missing or not known */
export function readHeadings(row: SheetRow): string[] {
  const headings = row.cells.map((cell) => (cell ?? '').trim().toLowerCase());
  const names = headings.map((heading) => ALIASES[heading] ?? heading);
  const known = new Set<string>([...COLUMN_NAMES, REASONS_COLUMN, '']);
  const foreign = names.filter((name) => !known.has(name));
  if (foreign.length > 0) {
    const some = foreign.slice(0, 5).map((name) => JSON.stringify(name.slice(0, 40)));
    throw new UnreadableFile(`There is no column ${some.join(', ')}; the columns are ${COLUMN_NAMES.join(', ')}.`);
  }
  const given = names.filter((name) => name !== '');
  const twice = given.find((name, index) => given.indexOf(name) !== index);
  if (twice !== undefined) throw new UnreadableFile(`The column ${twice} stands there twice.`);
  const missing = ['sku', 'spic'].filter((name) => !names.includes(name));
  if (missing.length > 0)
    throw new UnreadableFile(`The first row must name the columns; ${missing.join(', ')} is missing.`);
  return names;
}

/** The row as the API would be sent it; what cannot be read stays a text, and the API's own rules say what is wrong. */
export function inputOfRow(row: SheetRow, headings: readonly string[]): Record<string, unknown> {
  const cells = new Map<string, string>();
  for (const [index, cell] of row.cells.entries()) {
    const text = cell?.trim() ?? '';
    if (text !== '' && headings[index]) cells.set(headings[index], text);
  }
  const numberOf = (name: string): unknown => {
    const text = cells.get(name);
    return text !== undefined && /^-?\d{1,16}$/.test(text) ? Number(text) : text;
  };
  const listOf = (name: string): string[] | undefined =>
    cells
      .get(name)
      ?.split(SEPARATOR)
      .map((value) => value.trim())
      .filter((value) => value !== '');
  const [tin, pinfl] = [cells.get('commission_tin'), cells.get('commission_pinfl')];
  const input: Record<string, unknown> = {
    sku: cells.get('sku'),
    name: { ru: cells.get('name_ru'), uz: cells.get('name_uz'), en: cells.get('name_en') },
    aliases: listOf('aliases'),
    barcodes: listOf('barcodes'),
    spic: cells.get('spic'),
    package_code: cells.get('package_code'),
    ...{ units: numberOf('units'), vat_percent: numberOf('vat_percent'), price: numberOf('price') },
    ...{ marked: flagOf(cells.get('marked')), cash_allowed: flagOf(cells.get('cash_allowed')) },
    owner_type: numberOf('owner_type'),
    commission: tin === undefined && pinfl === undefined ? undefined : { tin, pinfl },
    attributes: jsonOf(cells.get('attributes')),
  };
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
}

export function cellsOfProduct(product: ProductView): Cell[] {
  const { name, commission, attributes } = product;
  return [
    ...[product.sku, name.ru ?? null, name.uz ?? null, name.en ?? null],
    ...[joined(product.aliases), joined(product.barcodes), product.spic, product.package_code],
    ...[product.units, product.vat_percent, product.price],
    ...[flagText(product.marked), flagText(product.cash_allowed), product.owner_type],
    ...[commission?.tin ?? null, commission?.pinfl ?? null],
    Object.keys(attributes).length === 0 ? null : JSON.stringify(attributes),
  ];
}

/** As it may be sent again. */
export function inputOfProduct(product: ProductView): Record<string, unknown> {
  const { archived_at: _archived, created_at: _created, updated_at: _updated, etag: _etag, ...input } = product;
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));
}

function joined(values: readonly string[]): string | null {
  return values.length === 0 ? null : values.join(SEPARATOR);
}

function flagText(flag: boolean | null): string | null {
  return flag === null ? null : String(flag);
}

const YES = new Set(['true', '1', 'yes', 'да', 'ha']);
const NO = new Set(['false', '0', 'no', 'нет', "yo'q", 'yo‘q', 'yoʻq']);

function flagOf(text: string | undefined): unknown {
  const word = text?.toLowerCase();
  if (word === undefined) return undefined;
  return YES.has(word) ? true : NO.has(word) ? false : text;
}

function jsonOf(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}
