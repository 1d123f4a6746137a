import { newestArchives, StoreUnavailable, type ArchiveFiles, type RunStatement } from '#ledger';
import type { Logger } from '#runtime';

/** One of them may be lost; a place without any is another one. */
const KNOWN_ARCHIVES = 5;

/**
 * The place can take archives, and is the one that has those that there are: an empty folder or bucket, or that of another installation,
 * would part them, and nothing leaves for it.
 * @param of what the caller archives
 * @throws
 */
export async function expectKnownPlace(
  run: RunStatement,
  of: 'rows' | 'partitions',
  files: ArchiveFiles,
  logger: Logger,
): Promise<void> {
  const names = await newestArchives(run, { of, limit: KNOWN_ARCHIVES });
  for (const name of names) {
    // One that cannot be read says nothing about the place: the next one may.
    const manifest = await files.manifest(name).catch((error: unknown) => {
      if (error instanceof StoreUnavailable) throw error;
      logger.error({ err: error, archive: name }, 'the manifest of an archive cannot be read');
      return null;
    });
    if (manifest) return files.prepare();
  }
  if (names.length > 0)
    throw new Error(
      `the folder or bucket has none of the newest archives (${names.join(', ')}): nothing leaves for it`,
    );
  await files.prepare();
}
