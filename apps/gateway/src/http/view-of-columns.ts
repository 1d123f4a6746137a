import { snake } from './snake-cased.js';

type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : Name;

type Shown<Value> = Value extends Date ? string : Value;

/** A row's columns as this API answers them: names in its style, times as RFC 3339. */
export function viewOfColumns<Row extends object, Column extends keyof Row & string>(
  row: Row,
  ...columns: Column[]
): { [Name in Column as Snake<Name>]: Shown<Row[Name]> } {
  return Object.fromEntries(columns.map((column) => [snake(column), shown(row[column])])) as never;
}

function shown(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value;
}
