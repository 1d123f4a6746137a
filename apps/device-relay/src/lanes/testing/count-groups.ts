import type { PrismaService, Prisma } from '#database';

/** @returns how many statements in which several lanes write the database has carried out since */
export function countGroups(prisma: PrismaService): () => number {
  const query = prisma.queryHot.bind(prisma);
  let groups = 0;
  prisma.queryHot = async <Row>(statement: Prisma.Sql): Promise<Row[]> => {
    const rows = await query<Row>(statement);
    if (statement.sql.includes('given AS MATERIALIZED')) groups += 1;
    return rows;
  };
  return () => groups;
}
