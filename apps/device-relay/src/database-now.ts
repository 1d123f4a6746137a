import { Prisma } from '#database';

/** The moment of a statement in SQL. The database's clock in the programs; a simulated one where a test owns time. */
export type SqlNow = () => Prisma.Sql;

export const databaseNow: SqlNow = () => Prisma.sql`now()`;
