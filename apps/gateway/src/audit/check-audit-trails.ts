import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { PLATFORM } from '../http/roles.js';
import { readHeadFile } from './audit-heads.js';
import { VerifyAuditTrail, type AuditVerdict } from './verify-audit-trail.js';

export interface CheckedTrail {
  merchantId: string;
  verdict: AuditVerdict;
  /** Heads of the file that were compared. */
  headsSeen: number;
}

/** Verifies every merchant's trail, and every one that a file of heads knows of: a trail may be gone as a whole. */
@Injectable()
export class CheckAuditTrails {
  constructor(
    private readonly prisma: PrismaService,
    private readonly verifier: VerifyAuditTrail,
  ) {}

  /** @throws Error when the file cannot be read */
  async execute(headFile?: string): Promise<CheckedTrail[]> {
    const seen = headFile === undefined ? new Map<string, never[]>() : await readHeadFile(headFile);
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      SELECT id FROM merchants UNION SELECT merchant_id FROM (
        SELECT merchant_id FROM audit_records WHERE merchant_id = ${PLATFORM} LIMIT 1) AS platform ORDER BY id`;
    const merchants = new Set([...rows.map(({ id }) => id), ...seen.keys()]);
    const checked: CheckedTrail[] = [];
    for (const merchantId of merchants) {
      const heads = seen.get(merchantId) ?? [];
      const verdict = await this.verifier.verifyAuditTrail(merchantId, heads);
      checked.push({ merchantId, verdict, headsSeen: heads.length });
    }
    return checked;
  }
}
