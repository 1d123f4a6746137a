import { Inject, Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import {
  archiveOf,
  beginRestore,
  findArchive,
  inFamilies,
  isArchiveName,
  listArchives,
  restoreRows,
  StoreUnavailable,
  type ArchiveFiles,
  type ArchiveRow,
  type ArchiveSettings,
  type FileState,
  type RunStatement,
} from '#ledger';
import { AuditedChange } from '../../audit/audited-change.js';
import { PLATFORM } from '../../http/roles.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import type { Program } from './actor.js';
import type { Given, ReadCommand } from './read-arguments.js';
import { UsageError } from './usage-error.js';

const AT_ONCE = 200;
const MAX_LISTED = 1_000;
const MAX_REASON = 500;

/** `verify` of one archive. */
interface Verified {
  name: string;
  /** `unreadable`: what stands there is no manifest, or cannot be opened. */
  state: FileState | 'unreadable';
}

/** `archive …`: what has left the database (docs/archive.md). */
@Injectable()
export class ArchiveCommands {
  private archive: ArchiveFiles | null = null;

  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
    @Inject(SETTINGS_TOKEN) private readonly settings: ArchiveSettings,
  ) {}

  /** @returns what is printed @throws UsageError */
  async run({ verb, target, values }: ReadCommand, program: Program): Promise<unknown> {
    switch (verb) {
      case 'list':
        return this.list(values['after'] ?? '');
      case 'verify':
        return this.verify(values['name']);
      default:
        return this.restore(target, values, program);
    }
  }

  private async list(after: string): Promise<{ data: unknown[]; next: string | null }> {
    const rows = await listArchives(this.statements(), { after, limit: MAX_LISTED });
    const next = rows.length === MAX_LISTED ? (rows.at(-1)?.name ?? null) : null;
    return { data: rows.map((row) => ({ ...row, bytes: Number(row.bytes) })), next };
  }

  /** Only what is wrong is listed; of one that was named, what it is. */
  private async verify(name: string | undefined): Promise<{ verified: number; rows: number; wrong: Verified[] }> {
    const wrong: Verified[] = [];
    let [verified, rows] = [0, 0];
    for await (const archive of name === undefined ? this.finished() : [await this.named(name)]) {
      const state = await this.stateOf(archive);
      verified += 1;
      rows += archive.rows;
      if (state !== 'whole') wrong.push({ name: archive.name, state });
    }
    return { verified, rows, wrong };
  }

  private async stateOf({ name, sha256 }: ArchiveRow): Promise<Verified['state']> {
    try {
      return await this.files().check(name, sha256 ?? '');
    } catch (error) {
      // One that cannot be read keeps no other one from being verified.
      if (error instanceof StoreUnavailable) throw error;
      return 'unreadable';
    }
  }

  /** Again after it was cut off: what is back already stays as it is. */
  private async restore(
    name: string,
    given: Given,
    program: Program,
  ): Promise<{ name: string; rows: number; came_back: number; refused?: string[] }> {
    const reason = given['reason']?.trim() ?? '';
    if (reason === '' || reason.length > MAX_REASON)
      throw new UsageError('--reason is missing: it stands on the trail');
    const archive = await this.named(name);
    const state = await this.stateOf(archive);
    if (state !== 'whole')
      throw new UsageError(`The archive ${name} is not whole (${state}): nothing was brought back.`);
    await this.changes.execute({ ...program, merchantId: PLATFORM }, async (tx) => {
      if (!(await beginRestore(runOn(tx), name)))
        throw new UsageError(`The archive ${name} is ${archive.state}: there is nothing to bring back.`);
      const [before, after] = [{ state: archive.state }, { state: 'restored', reason }];
      return { result: null, action: 'archive.restore', targetId: name, before, after };
    });
    let cameBack = 0;
    const refused: string[] = [];
    const recorded = { bytes: Number(archive.bytes), sha256: archive.sha256 ?? '' };
    for await (const lines of inFamilies(this.files().read(name, AT_ONCE, recorded), AT_ONCE))
      cameBack += await restoreRows(this.statements(), name, lines, (id) => refused.push(id));
    return { name, rows: archive.rows, came_back: cameBack, ...(refused.length > 0 && { refused }) };
  }

  private async *finished(): AsyncGenerator<ArchiveRow> {
    let after = '';
    for (;;) {
      const page = await listArchives(this.statements(), { after, limit: MAX_LISTED });
      yield* page.filter(({ state }) => state !== 'writing');
      const last = page.at(-1);
      if (!last) return;
      after = last.name;
    }
  }

  private async named(name: string): Promise<ArchiveRow> {
    const archive = isArchiveName(name) ? await findArchive(this.statements(), name) : null;
    if (!archive) throw new UsageError(`There is no archive ${JSON.stringify(name)}.`);
    return archive;
  }

  private files(): ArchiveFiles {
    this.archive ??= archiveOf(this.settings);
    if (!this.archive)
      throw new UsageError('Neither ARCHIVE_DIR nor ARCHIVE_BUCKET is set: there is no archive to read.');
    return this.archive;
  }

  private statements(): RunStatement {
    return runOn(this.prisma);
  }
}

function runOn(database: Pick<Prisma.TransactionClient, '$queryRaw'>): RunStatement {
  return <Row>(statement: Prisma.Sql) => database.$queryRaw<Row[]>(statement);
}
