import pg from 'pg';
import { Prisma } from './generated/client.js';

/** SQLSTATE 23505, of a raw statement, of a hot one (`pg`) or of Prisma's own. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlStateOf(error) === '23505' || (isKnown(error) && error.code === 'P2002');
}

/**
 * Whether the server itself answered that it has not carried out this one statement (`queryHot`). Not when it ended the session
 * (08, 57P) instead: that may come after a commit.
 */
export function isRefusedByServer(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError) || error.severity === 'FATAL' || error.severity === 'PANIC') return false;
  return !/^(08|57P|25P0[34])/.test(error.code ?? '08');
}

/**
 * It was refused for the rows that it writes or waits for: 22 (values), 23 (constraints), 40 and 55P03 (others' locks). So it says nothing
 * of the server, and its session is as good as before; other refusals may be those of a session (a server that has become a standby, a
 * plan that fits no more), which a new one heals.
 */
export function isRefusedForItsRows(error: unknown): boolean {
  return isRefusedByServer(error) && /^(22|23|40|55P03)/.test(sqlStateOf(error) ?? '');
}

/** SQLSTATE 42501: the role may not do this. */
export function isNotAllowed(error: unknown): boolean {
  return sqlStateOf(error) === '42501';
}

function isKnown(error: unknown): error is Prisma.PrismaClientKnownRequestError {
  return error instanceof Prisma.PrismaClientKnownRequestError;
}

/** The server's own code; through Prisma it stands in what the driver adapter was answered. */
export function sqlStateOf(error: unknown): string | undefined {
  if (error instanceof pg.DatabaseError) return error.code;
  if (!isKnown(error)) return undefined;
  const { driverAdapterError } = (error.meta ?? {}) as { driverAdapterError?: { cause?: { originalCode?: string } } };
  return driverAdapterError?.cause?.originalCode;
}
