import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { limitOf, pageBy, strangeCursor, type Page } from '../http/paging.js';
import type { AuditQuery } from './audit-query.js';

/** One record of the merchant's trail. */
export interface AuditView {
  /** From 1, without gaps. */
  sequence: number;
  at: string;
  /** Who: a client's or a user's id, or a program's name. */
  actor: string;
  action: string;
  /** What it was done to. */
  subject_id: string;
  /** Null: there was nothing. */
  before: unknown;
  after: unknown;
  /** The caller's IP address. */
  address: string | null;
  /** Of a person. Null: a client or a program. */
  session_id: string | null;
  request_id: string | null;
  /** Of the chain, hex: what an auditor compares with the heads that were published. */
  hash: string;
}

interface AuditRow extends Omit<AuditView, 'sequence' | 'at' | 'subject_id' | 'hash'> {
  sequence: bigint;
  at: Date;
  target_id: string;
  hash: Uint8Array;
}

/** GET /v1/audit: the merchant's own trail, the newest first. */
@Injectable()
export class ListAudit {
  constructor(private readonly prisma: PrismaService) {}

  /** @throws Problem 422 for a cursor that is none of this list */
  async execute(merchantId: string, query: AuditQuery): Promise<Page<AuditView>> {
    const limit = limitOf(query);
    const before = query.cursor === undefined ? null : readCursor(query.cursor);
    const rows = await this.prisma.$queryRaw<AuditRow[]>`
      SELECT sequence, at, actor, action, target_id, before, after, address, request_id, session_id, hash
        FROM audit_records
       WHERE merchant_id = ${merchantId}
         ${before === null ? Prisma.empty : Prisma.sql`AND sequence < ${before}`}
         ${query.action === undefined ? Prisma.empty : Prisma.sql`AND action = ${query.action}`}
         ${query.subject_id === undefined ? Prisma.empty : Prisma.sql`AND target_id = ${query.subject_id}`}
       ORDER BY sequence DESC LIMIT ${limit + 1}`;
    return pageBy(rows, limit, auditView, ({ sequence }) => cursorOf(sequence));
  }
}

function cursorOf(sequence: bigint): string {
  return Buffer.from(`audit ${String(sequence)}`).toString('base64url');
}

function readCursor(cursor: string): bigint {
  const sequence = /^audit (\d{1,18})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.[1];
  if (sequence === undefined) throw strangeCursor();
  return BigInt(sequence);
}

function auditView(row: AuditRow): AuditView {
  return {
    sequence: Number(row.sequence),
    at: row.at.toISOString(),
    actor: row.actor,
    action: row.action,
    subject_id: row.target_id,
    before: row.before,
    after: row.after,
    address: row.address,
    session_id: row.session_id,
    request_id: row.request_id,
    hash: Buffer.from(row.hash).toString('hex'),
  };
}
