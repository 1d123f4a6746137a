import { Prisma } from './generated/client.js';

/** SQLSTATE 23505, of a raw statement or of Prisma's own. */
export function isUniqueViolation(error: unknown): boolean {
  if (!(error instanceof Prisma.PrismaClientKnownRequestError)) return false;
  return (
    error.code === 'P2002' || /23505|Unique constraint/.test(`${error.message} ${JSON.stringify(error.meta ?? {})}`)
  );
}
