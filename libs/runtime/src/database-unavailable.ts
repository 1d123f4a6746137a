/**
 * Whether an error means "PostgreSQL cannot be reached at the moment", judged without importing any driver by codes and classes, never
 * by what a message says: Prisma's codes, the kinds of its driver adapter, SQLSTATE, the network codes of Node, and the classes that
 * libs/database gives to what `pg` throws without a code. Follows causes.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  return search(error, isUnavailable, 0);
}

/** Whether no connection was to be had, so that the statement has not left the process. */
export function isNotSent(error: unknown): boolean {
  return search(error, isUnconnected, 0);
}

/** Whether its caller has more waiting for a connection than its share, so that nothing of it was done. */
export function isShareSpent(error: unknown): boolean {
  return search(error, ({ name }) => name === SHARE_SPENT, 0);
}

/** The same of work that had begun: what it did before is done. */
export function isShareBusy(error: unknown): boolean {
  return search(error, ({ name }) => name === SHARE_BUSY, 0);
}

/** Whether the database is there and takes no writes: its disk is full (53100), or it is in read-only (25006). */
export function isWriteRefused(error: unknown): boolean {
  return hasCode(error, UNWRITABLE);
}

/** Whether a statement was taken back because another session holds what it needs (55P03), or waited for it (40P01): again later. */
export function isDatabaseBusy(error: unknown): boolean {
  return hasCode(error, BUSY);
}

/**
 * Whether it gave way to another transaction's row, and not to a lock on a whole table (a migration) or on anything else.
 * PostgreSQL names the row's place in the error's context, in every language: `(0,1) in relation "receipts"`. Only errors of
 * `pg` carry the context; without it the answer is no.
 */
export function isRowContended(error: unknown, table: string): boolean {
  const isRow = ({ where }: Shape): boolean => typeof where === 'string' && TUPLE.test(where) && where.includes(table);
  return isDatabaseBusy(error) && search(error, isRow, 0);
}

function hasCode(error: unknown, codes: ReadonlySet<unknown>): boolean {
  return search(error, ({ code, originalCode }) => codes.has(code) || codes.has(originalCode), 0);
}

/** Classes of `libs/database`, known by name: without a connection, and with one that is lost. */
const SHARE_SPENT = 'ShareSpent';
const SHARE_BUSY = 'ShareBusy';
const NOT_SENT_NAMES = new Set(['NotSent', 'NotConnected', 'PoolExhausted', SHARE_SPENT, SHARE_BUSY]);
const LOST_NAMES = new Set(['ConnectionLost', 'SilentConnection']);
/** Cannot reach, cannot start a transaction in time, too many connections. */
const NOT_SENT_CODES = new Set(['P1001', 'P2024', 'P2037', '53300', 'ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);
const NOT_SENT_KINDS = new Set(['DatabaseNotReachable', 'TooManyConnections']);
/** Cannot reach, timed out, closed, pool exhausted, too many connections, cannot start a transaction in time. */
const PRISMA_CODES = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2037']);
const ADAPTER_KINDS = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections']);
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
/** 08 connection, 53 insufficient resources, 58 its disk or system fails, 57P01–57P05 shutdown, start and idle session, 57014 statement timeout, 25P03 and 25P04 idle or long transaction, 25006 standby. */
const SQLSTATE = /^(08\w{3}|53\w{3}|58\w{3}|57P0[1-5]|57014|25P0[34]|25006)$/;
const UNWRITABLE: ReadonlySet<unknown> = new Set(['53100', '25006']);
const BUSY: ReadonlySet<unknown> = new Set(['55P03', '40P01']);
/** Block and item of a row version. */
const TUPLE = /\(\d+,\d+\)/;
const MAX_DEPTH = 6;

type Shape = Readonly<Record<string, unknown>>;

function search(error: unknown, isIt: (shape: Shape) => boolean, depth: number): boolean {
  if (typeof error !== 'object' || error === null || depth > MAX_DEPTH) return false;
  const shape = error as Shape;
  if (isIt(shape)) return true;
  const inner = [shape['cause'], shape['meta'], shape['driverAdapterError'], shape['error']];
  const several = Array.isArray(shape['errors']) ? (shape['errors'] as unknown[]) : [];
  return [...inner, ...several].some((next) => search(next, isIt, depth + 1));
}

function isUnavailable(shape: Shape): boolean {
  if (isUnconnected(shape)) return true;
  if (isUnavailableCode(shape['code']) || isUnavailableCode(shape['originalCode'])) return true;
  if (typeof shape['kind'] === 'string' && ADAPTER_KINDS.has(shape['kind'])) return true;
  return typeof shape['name'] === 'string' && LOST_NAMES.has(shape['name']);
}

function isUnconnected({ name, code, originalCode, kind }: Shape): boolean {
  return (
    (typeof name === 'string' && NOT_SENT_NAMES.has(name)) ||
    [code, originalCode].some((each) => typeof each === 'string' && NOT_SENT_CODES.has(each)) ||
    (typeof kind === 'string' && NOT_SENT_KINDS.has(kind))
  );
}

function isUnavailableCode(code: unknown): boolean {
  if (typeof code !== 'string') return false;
  return PRISMA_CODES.has(code) || NETWORK_CODES.has(code) || SQLSTATE.test(code);
}
