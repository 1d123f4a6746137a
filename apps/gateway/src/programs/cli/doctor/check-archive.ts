import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import type { PrismaService } from '#database';
import type { GatewaySettings } from '../../../settings.js';
import { well, type Finding } from './finding.js';

const ADVICE = 'docs/archive.md, "When something is wrong": nothing leaves the database until it is mended.';

/** Whether old attempts leave, and whether what has left can be reached from here. */
export async function checkArchive(
  database: PrismaService,
  { ARCHIVE_DIR: folder }: Pick<GatewaySettings, 'ARCHIVE_DIR'>,
): Promise<Finding[]> {
  const [row] = await database.$queryRaw<{ stuck: number; archives: boolean }[]>`
    SELECT (SELECT count(*)::int4 FROM archives
             WHERE state IN ('writing', 'written') AND released IS NULL
               AND greatest(begun_at, restored_at + interval '30 days') < now() - interval '1 day') AS stuck,
           EXISTS (SELECT FROM archives WHERE state <> 'abandoned') AS archives`;
  if (!row) throw new Error('the database returned nothing');
  if (folder === undefined && !row.archives)
    return [well('archive', 'ARCHIVE_DIR is not set: old attempts stay in the database')];
  const isReadable =
    folder !== undefined &&
    (await access(folder, constants.R_OK).then(
      () => true,
      () => false,
    ));
  const stuck = `${String(row.stuck)} begun more than a day ago and not finished`;
  if (row.stuck > 0) return [{ check: 'archive', state: 'bad', found: stuck, do: ADVICE }];
  if (!isReadable)
    return [{ check: 'archive', state: 'warn', found: 'the folder ARCHIVE_DIR cannot be read from here', do: ADVICE }];
  return [well('archive', stuck)];
}
