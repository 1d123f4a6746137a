import { Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import { limitOf, pageBy, type Page, type PageQuery } from '../../http/paging.js';
import { viewOfColumns } from '../../http/view-of-columns.js';
import { readCursor, writeCursor } from '../catalog/cursors.js';
import type { ImportProgress } from './import-runs.js';

export interface ClassifierImportView {
  id: number;
  /** full, inactive, changes or lines; back: a person went back to an earlier version. */
  kind: string;
  /** Where it was read, without what may be secret in an address. */
  source: string;
  state: 'loading' | 'applied' | 'failed';
  /** The version that it made; null while loading, or when nothing differed. */
  version: number | null;
  result: { added: number; changed: number; ended: number } | null;
  progress: { rows: number; rejected: number; samples: { number: number; reason: string }[] };
  error: string | null;
  /** Of `back`: the version whose content is in force again. */
  restored_version: number | null;
  started_at: string;
  /** Its last sign of life. */
  seen_at: string;
  finished_at: string | null;
}

const MAX_ERROR = 500;

/** GET /v1/classifier/imports: the same for all merchants. */
@Injectable()
export class ListImports {
  constructor(private readonly prisma: PrismaService) {}

  /** @throws Problem 422 for a cursor that is none of this list */
  async page(query: PageQuery): Promise<Page<ClassifierImportView>> {
    const limit = limitOf(query);
    const rows = await this.prisma.classifierImport.findMany({
      ...(query.cursor !== undefined && { where: { id: { lt: readPlace(query.cursor) } } }),
      orderBy: { id: 'desc' },
      take: limit + 1,
    });
    return pageBy(rows, limit, importView, ({ id }) => writeCursor([id]));
  }
}

function readPlace(cursor: string): number {
  const [id] = readCursor<readonly [number]>(
    cursor,
    (parts) => parts.length === 1 && Number.isInteger(parts[0]) && Math.abs(Number(parts[0])) < 2 ** 31,
  );
  return id;
}

function importView(row: Prisma.ClassifierImportGetPayload<object>): ClassifierImportView {
  const progress = row.progress as Partial<ImportProgress> | null;
  const result = row.result as Partial<NonNullable<ClassifierImportView['result']>> | null;
  return {
    ...viewOfColumns(row, 'id', 'kind', 'state', 'version'),
    source: publicPart(row.source),
    result: result && { added: result.added ?? 0, changed: result.changed ?? 0, ended: result.ended ?? 0 },
    progress: { rows: progress?.rows ?? 0, rejected: progress?.rejected ?? 0, samples: progress?.samples ?? [] },
    error: row.error === null ? null : withoutSecrets(row.error).slice(0, MAX_ERROR),
    ...viewOfColumns(row, 'restoredVersion', 'startedAt', 'seenAt', 'finishedAt'),
  };
}

/** An address without its credentials and query; of a file on the machine its name alone. */
function publicPart(source: string): string {
  if (!/^https?:\/\//i.test(source)) return source.split(/[/\\]/).at(-1) ?? '';
  if (!URL.canParse(source)) return 'an address';
  const { origin, pathname } = new URL(source);
  return `${origin}${pathname}`;
}

function withoutSecrets(text: string): string {
  return text.replaceAll(/https?:\/\/\S+/gi, (address) => publicPart(address));
}
