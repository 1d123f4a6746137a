import { Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import { Problem, type ProblemError } from '#problems';

type Reader = Pick<Prisma.TransactionClient, '$queryRaw'>;

/** What a body may name of the merchant's own: branches, groups and devices, by id or code. Archived ones are not found. */
@Injectable()
export class Places {
  constructor(private readonly prisma: PrismaService) {}

  /** @throws Problem 422 branch_unknown */
  async branchId(merchantId: string, named: string): Promise<string> {
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      SELECT id FROM branches WHERE merchant_id = ${merchantId} AND ${named} IN (id, code) AND archived_at IS NULL`;
    return found(rows, { pointer: '/branch_id', code: 'branch_unknown', detail: 'No branch has this id or code.' });
  }

  /** @throws Problem 422 group_unknown */
  async groupId(merchantId: string, named: string): Promise<string> {
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      SELECT id FROM device_groups WHERE merchant_id = ${merchantId} AND ${named} IN (id, code) AND archived_at IS NULL`;
    return found(rows, { pointer: '/group_id', code: 'group_unknown', detail: 'No group has this id or code.' });
  }
}

/**
 * That a default device is one of the merchant's live ones. Its row stays locked until the commit, so that it is not
 * deleted meanwhile.
 * @throws Problem 422 device_unknown
 */
export async function assertOwnDevice(reader: Reader, merchantId: string, deviceId: string): Promise<void> {
  const rows = await reader.$queryRaw<{ id: string }[]>`
    SELECT id FROM devices WHERE id = ${deviceId} AND merchant_id = ${merchantId} AND deleted_at IS NULL
                             AND registered_at IS NOT NULL FOR SHARE`;
  found(rows, { pointer: '/default_device_id', code: 'device_unknown', detail: 'No device has this id.' });
}

function found(rows: readonly { id: string }[], error: ProblemError): string {
  const [row] = rows;
  if (!row) throw Problem.fromErrors([error]);
  return row.id;
}
