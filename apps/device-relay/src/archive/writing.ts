import {
  abandonArchive,
  beginArchive,
  type ArchivedTable,
  type ArchiveFiles,
  type ArchiveWriter,
  type Manifest,
  type RunStatement,
} from '#ledger';
import { newId, type Logger } from '#runtime';

/** What was never finished. What cannot be removed stays and counts for nothing: a bucket may give no right to remove. */
export async function abandonUnfinished(
  run: RunStatement,
  files: ArchiveFiles,
  name: string,
  logger: Logger,
): Promise<void> {
  await files.discard(name).catch((error: unknown) => {
    logger.warn({ err: error, archive: name }, 'what is left of an archive that was never finished is not removed');
  });
  await abandonArchive(run, name);
}

/** An archive that is begun with its first row, and recorded before that. */
export class Writing {
  private writer: ArchiveWriter | null = null;
  private rows = 0;

  /** @param of the table, and the partition of it, whose rows these are */
  constructor(
    private readonly files: ArchiveFiles,
    private readonly run: RunStatement,
    private readonly of: { table: ArchivedTable; released?: string },
  ) {}

  /** Whether one more fits. @param most of rows, and of characters before compression; the store may take fewer */
  hasRoom(most: { maxRows: number; maxCharacters: number }): boolean {
    const characters = Math.min(most.maxCharacters, this.files.maxCharacters);
    return this.rows < most.maxRows && (this.writer?.written ?? 0) < characters;
  }

  async add(row: { id: string; line: string }): Promise<void> {
    if (!this.writer) {
      const { table, released } = this.of;
      const name = newId('x').replace('x_', `${table}-`);
      await beginArchive(this.run, name, released);
      this.writer = await this.files.begin(name);
    }
    await this.writer.add(row);
    this.rows += 1;
  }

  async finish(): Promise<Manifest | null> {
    return (await this.writer?.finish()) ?? null;
  }

  async abort(): Promise<void> {
    await this.writer?.abort();
  }
}
