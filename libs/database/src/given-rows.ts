import { Prisma } from './generated/client.js';

const KIND = 'given';

/**
 * For statements over what several callers ask or write at the same moment: a table in parentheses, to be named by the statement, with a
 * column `number` (0, 1, …) and these.
 *
 * One JSON text instead of an array for each column: what is done to every element of an array costs more than the statement. All rows
 * pass the comparison in it; by that the planner assumes one row, and so reads every table by its index, as for one caller, whatever
 * its statistics say (docs/adr/0060-lane-reads.md).
 *
 * @param types SQL types by column, as JSON has them: a bytea comes as text
 */
export function givenRows<Column extends string>(
  types: Readonly<Record<Column, string>>,
): (rows: readonly Readonly<Partial<Record<Column, unknown>>>[]) => Prisma.Sql {
  const columns = { ...types, number: 'int' };
  const names = Prisma.raw(Object.keys(columns).join(', '));
  const typed = Prisma.raw(
    Object.entries({ ...columns, kind: 'text' })
      .map((column) => column.join(' '))
      .join(', '),
  );
  return (rows) => {
    const json = JSON.stringify(rows.map((row, number) => ({ ...row, number, kind: KIND })));
    return Prisma.sql`(SELECT ${names} FROM json_to_recordset(${json}::json) AS r(${typed}) WHERE r.kind = ${KIND})`;
  };
}
