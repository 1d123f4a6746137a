import type { PrismaService } from '#database';
import { archiveOf, type ArchiveSettings } from '#ledger';
import { well, type Finding } from './finding.js';

const ADVICE = 'docs/archive.md, "When something is wrong": nothing leaves the database until it is mended.';

/** Whether old attempts leave, and whether what has left can be reached from here. */
export async function checkArchive(database: PrismaService, settings: ArchiveSettings): Promise<Finding[]> {
  const [row] = await database.$queryRaw<{ stuck: number; archives: boolean }[]>`
    SELECT (SELECT count(*)::int4 FROM archives
             WHERE state IN ('writing', 'written') AND released IS NULL
               AND greatest(begun_at, restored_at + interval '30 days') < now() - interval '1 day') AS stuck,
           EXISTS (SELECT FROM archives WHERE state <> 'abandoned') AS archives`;
  if (!row) throw new Error('the database returned nothing');
  const files = archiveOf(settings);
  if (!files && !row.archives)
    return [well('archive', 'ARCHIVE_DIR and ARCHIVE_BUCKET are not set: old attempts stay in the database')];
  const stuck = `${String(row.stuck)} begun more than a day ago and not finished`;
  if (row.stuck > 0) return [{ check: 'archive', state: 'bad', found: stuck, do: ADVICE }];
  const why = files ? await files.reach().then(() => null, reasonOf) : 'neither ARCHIVE_DIR nor ARCHIVE_BUCKET is set';
  if (why === null) return [well('archive', stuck)];
  return [{ check: 'archive', state: 'warn', found: `it cannot be read from here: ${why}`, do: ADVICE }];
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
