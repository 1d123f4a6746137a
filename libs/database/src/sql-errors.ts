import pg from 'pg';
import { Prisma } from './generated/client.js';

/** SQLSTATE 23505, of a raw statement, of a hot one (`pg`) or of Prisma's own. */
export function isUniqueViolation(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code === '23505';
  if (!(error instanceof Prisma.PrismaClientKnownRequestError)) return false;
  return (
    error.code === 'P2002' || /23505|Unique constraint/.test(`${error.message} ${JSON.stringify(error.meta ?? {})}`)
  );
}

/**
 * Whether the server itself answered that it has not carried out this one statement (`queryHot`). Not when it ended the session
 * (08, 57P) instead: that may come after a commit.
 */
export function isRefusedByServer(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !/^(08|57P|25P0[34])/.test(error.code ?? '08');
}

/** SQLSTATE 42501: the role may not do this. */
export function isNotAllowed(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code === '42501';
  if (!(error instanceof Prisma.PrismaClientKnownRequestError)) return false;
  return /42501|permission denied/.test(`${error.message} ${JSON.stringify(error.meta ?? {})}`);
}
