import { join } from 'node:path';
import pg from 'pg';
import type { Prisma } from '#database';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { beginRestore, restoreRows, type ArchiveSettings, type LeavingTable, type RunStatement } from '#ledger';
import { createLogger } from '#runtime';
import { archiveIn, type ArchivePlace, rowsIn } from '../../../../../libs/ledger/src/testing/archive-places.js';
import { ARCHIVE_OPTIONS, ArchiveKeeper, type ArchiveOptions } from '../archive-keeper.js';
import { insertOldSale, type OldSale } from './old-sales.js';

const logger = createLogger('test', 'silent');
const KEEP_DAYS = { attempts: 395, receipts: 3_000 };

/** What a test has: a database, a session of its owner and one of the programs, a place for archives. */
export const at = {} as { database: TestDatabase; owner: pg.Client; programs: pg.Client; place: ArchivePlace };

export const run: RunStatement = async <Row>({ text, values }: Prisma.Sql) =>
  (await at.programs.query(text, [...values])).rows as Row[];

/** For all tests of the file that calls it: a merchant with a branch; before each there is no receipt, no attempt and no archive. */
export function withAttempts(open: () => Promise<ArchivePlace>): void {
  beforeAll(async () => {
    at.place = await open();
    at.database = await createTestDatabase();
    at.owner = new pg.Client({ connectionString: at.database.ownerUrl });
    at.programs = new pg.Client({ connectionString: at.database.url });
    await at.owner.connect();
    await at.programs.connect();
    await at.owner.query(`
      INSERT INTO merchants (id, code, name, tin) VALUES ('mer_1', 'shop', 'Shop', '300000000');
      INSERT INTO branches (id, merchant_id, code, name) VALUES ('brn_1', 'mer_1', 'main', 'Main')`);
  });
  afterAll(async () => {
    await at.owner?.end();
    await at.programs?.end();
    await at.database?.drop();
    await at.place?.close();
  });
  beforeEach(async () => {
    await at.place.empty();
    await at.owner.query(
      `DELETE FROM archived_attempts; DELETE FROM archived_receipts; DELETE FROM archived_payments; DELETE FROM archives;
       DELETE FROM attempts; DELETE FROM receipts; DELETE FROM payments`,
    );
  });
}

export const sell = (sale: OldSale = {}): Promise<{ receiptId: string; attemptId: string }> =>
  insertOldSale(at.owner, sale);

/** The newest attempt of each register stays; this one does. */
export const newest = (): Promise<unknown> => sell({ daysAgo: 1 });

export function keeperIn(settings: Partial<ArchiveSettings>, options: Partial<ArchiveOptions> = {}): ArchiveKeeper {
  const all = { ...ARCHIVE_OPTIONS, pauseMs: 0, keepDays: KEEP_DAYS, ...options };
  return new ArchiveKeeper(at.database.url, archiveIn(settings), all, logger);
}

export function keeper(options: Partial<ArchiveOptions> = {}): ArchiveKeeper {
  return keeperIn(at.place.settings, options);
}

export async function runToEnd(one: ArchiveKeeper): Promise<void> {
  while (await one.run());
}

export async function attempts(): Promise<{ id: string; row: string }[]> {
  return (
    await at.owner.query<{ id: string; row: string }>('SELECT id, attempt_line(a) AS row FROM attempts a ORDER BY id')
  ).rows;
}

export async function archives(): Promise<{ name: string; state: string; rows: number; removed: number }[]> {
  const { rows } = await at.owner.query<{ name: string; state: string; rows: number; removed: number }>(
    `SELECT name, state::text, rows, removed FROM archives WHERE state <> 'abandoned' ORDER BY name`,
  );
  return rows;
}

export async function linesOf(name: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const group of rowsIn(archiveIn(at.place.settings), name, 7)) lines.push(...group);
  return lines;
}

export async function restoreAll(): Promise<number> {
  let cameBack = 0;
  for (const { name } of await archives()) {
    expect(await beginRestore(run, name)).toBe(true);
    cameBack += await restoreRows(run, name, await linesOf(name));
  }
  return cameBack;
}

/** The text of a program that is a keeper of small steps, to be killed in one of them. */
export function keeperProgram(): string {
  return `
    import { archiveOf } from '#ledger';
    import { ArchiveKeeper, ARCHIVE_OPTIONS } from ${JSON.stringify(join(import.meta.dirname, '../archive-keeper.ts'))};
    const options = { ...ARCHIVE_OPTIONS, keepDays: ${JSON.stringify(KEEP_DAYS)}, rowsAtOnce: 3, maxRows: 12, pauseMs: 15 };
    const logger = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const files = archiveOf(${JSON.stringify(at.place.settings)});
    const keeper = new ArchiveKeeper(${JSON.stringify(at.database.url)}, files, options, logger);
    while (await keeper.run());`;
}

/** One archive that is written, and none of its rows has left. */
export async function writtenArchive(table: LeavingTable = 'attempts'): Promise<string> {
  await at.owner.query(`ALTER TABLE archived_${table} ADD CONSTRAINT none CHECK (false)`);
  await expect(keeper().run()).rejects.toThrow(/none/);
  await at.owner.query(`ALTER TABLE archived_${table} DROP CONSTRAINT none`);
  const [archive] = await archives();
  expect(archive).toMatchObject({ state: 'written', removed: 0 });
  return String(archive?.name);
}
