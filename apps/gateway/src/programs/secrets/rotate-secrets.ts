import { Prisma, SEALED_COLUMNS, type PrismaService, type SealedColumn } from '#database';
import { EnvelopeError, open, seal, sealedWith, type Keyring } from '#secrets';

const BATCH = 200;

export interface RotatedColumn {
  /** `table.column` */
  column: string;
  /** Sealed anew by this run. */
  resealed: number;
  /** Were under the active key already. */
  upToDate: number;
  /** Ids of rows whose value opens with no key of the ring: damaged, or its key is missing. */
  unreadable: string[];
}

interface SealedRow {
  id: string;
  sealed: Uint8Array;
}

/**
 * Seals every secret anew under the active key of the ring. One row is one statement that changes the value only if it
 * still is the one that was read: stopped half-way it leaves good rows, a second run goes on, and a secret that is
 * changed meanwhile stays as it was set. All programs must know the new key before (docs/security.md).
 */
export class RotateSecrets {
  constructor(
    private readonly prisma: PrismaService,
    private readonly keyring: Keyring,
    private readonly columns: readonly SealedColumn[] = SEALED_COLUMNS,
  ) {}

  async execute(): Promise<RotatedColumn[]> {
    const rotated: RotatedColumn[] = [];
    for (const column of this.columns) rotated.push(await this.rotate(column));
    return rotated;
  }

  private async rotate(column: SealedColumn): Promise<RotatedColumn> {
    const result: RotatedColumn = {
      ...{ column: `${column.table}.${column.column}`, resealed: 0, upToDate: 0, unreadable: [] },
    };
    for (let after = ''; ;) {
      const rows = await this.read(column, after);
      for (const row of rows) await this.reseal(column, row, result);
      const last = rows.at(-1);
      if (!last) return result;
      after = last.id;
    }
  }

  private async reseal(column: SealedColumn, { id, sealed }: SealedRow, result: RotatedColumn): Promise<void> {
    if (sealedWith(sealed) === this.keyring.active) {
      result.upToDate += 1;
      return;
    }
    const owner = column.ownerOf(id);
    let secret: string;
    try {
      secret = open(sealed, owner, this.keyring);
    } catch (error) {
      if (!(error instanceof EnvelopeError)) throw error;
      result.unreadable.push(id);
      return;
    }
    const fresh = seal(secret, owner, this.keyring);
    const { table, idColumn, name } = quoted(column);
    result.resealed += await this.prisma.$executeRaw`
      UPDATE ${table} SET ${name} = ${fresh} WHERE ${idColumn} = ${id} AND ${name} = ${Buffer.from(sealed)}`;
  }

  private read(column: SealedColumn, after: string): Promise<SealedRow[]> {
    const { table, idColumn, name } = quoted(column);
    return this.prisma.$queryRaw<SealedRow[]>`
      SELECT ${idColumn} AS id, ${name} AS sealed FROM ${table}
       WHERE ${idColumn} > ${after} AND ${name} IS NOT NULL ORDER BY ${idColumn} LIMIT ${BATCH}`;
  }
}

/** Names from our own list, never from a caller. */
function quoted({ table, idColumn, column }: SealedColumn): Record<'table' | 'idColumn' | 'name', Prisma.Sql> {
  const raw = (name: string): Prisma.Sql => Prisma.raw(`"${name}"`);
  return { table: raw(table), idColumn: raw(idColumn), name: raw(column) };
}
