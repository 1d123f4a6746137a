/** Readers of parsed JSON whose types are not checked yet. None of them throws. */
import type { Tiyin } from './money.js';
import type { Thousandths } from './quantity.js';

export type WireObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function asObject(value: unknown): WireObject | null {
  return isObject(value) ? value : null;
}

export function asArray(value: unknown): readonly unknown[] | null {
  return Array.isArray(value) ? value : null;
}

/** JSON null in an optional field means the same as leaving it out. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

export function isInteger(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
}

/** A unit price on the wire: a safe integer > 0. */
export function asPrice(value: unknown): Tiyin | null {
  return isInteger(value) && value > 0 ? (value as Tiyin) : null;
}

/** An `amount` on the wire: a safe integer > 0. */
export function asAmount(value: unknown): Thousandths | null {
  return isInteger(value) && value > 0 ? (value as Thousandths) : null;
}

/** An optional discount: a safe integer ≥ 0; left out is 0. */
export function asDiscount(value: unknown): Tiyin | null {
  if (isAbsent(value)) return 0 as Tiyin;
  return isInteger(value) && value >= 0 ? (value as Tiyin) : null;
}

/** Marking codes of an item that say something: `labels`, or else the single `label`. */
export function itemLabels(item: WireObject): readonly string[] {
  const listed = (asArray(item['labels']) ?? []).filter(isFilledText);
  if (listed.length > 0) return listed;
  return isFilledText(item['label']) ? [item['label']] : [];
}

export function isFilledText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}
