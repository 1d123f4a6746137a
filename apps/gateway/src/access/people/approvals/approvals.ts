import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { Problem } from '#problems';
import { AuditedChange } from '../../../audit/audited-change.js';
import { notFound } from '../../../http/own-id.js';
import { pageOf, pageRequest, type Page } from '../../../http/paging.js';
import { holdsScope, SCOPES } from '../../../http/scopes.js';
import { viewOfColumns } from '../../../http/view-of-columns.js';
import type { RoleGiver } from '../invitations/invitations.js';
import type { ApprovalQuery, ApprovalStateView } from './approval-query.js';

export interface ApprovalView {
  id: string;
  /** Method and route. */
  action: string;
  subject_id: string;
  /** Without secrets. */
  request: unknown;
  state: ApprovalStateView;
  requested_by: string;
  requested_at: string;
  /** Until when it can be approved, and used. */
  expires_at: string;
  decided_by: string | null;
  decided_at: string | null;
}

type ApprovalRow = Prisma.ApprovalGetPayload<object>;

/** Who reads or decides them, and with what scopes. */
type Viewer = Pick<RoleGiver, 'merchantId' | 'actor' | 'scopes'>;

/** Requests that wait for a second user. A user sees those that it could decide, and its own. */
@Injectable()
export class Approvals {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
  ) {}

  /** The newest first. */
  async list(viewer: Viewer, query: ApprovalQuery): Promise<Page<ApprovalView>> {
    const { limit, afterId } = pageRequest(query, 'apr');
    const held = heldScopes(viewer);
    const rows = await this.prisma.approval.findMany({
      where: {
        merchantId: viewer.merchantId,
        AND: [
          {
            OR: [
              { requestedBy: viewer.actor },
              { NOT: { scopes: { hasSome: SCOPES.filter((scope) => !held.includes(scope)) } } },
            ],
          },
          stateFilter(query.state),
          ...(afterId === null ? [] : [{ id: { lt: afterId } }]),
        ],
      },
      orderBy: { id: 'desc' },
      take: limit + 1,
    });
    return pageOf(rows, limit, approvalView);
  }

  /** @throws Problem 404; 403 scope_not_held; 409 own_request, approval_closed */
  async decide(decider: RoleGiver, id: string, state: 'approved' | 'refused'): Promise<ApprovalView> {
    return this.changes.execute<ApprovalView>(decider, async (tx) => {
      await tx.$queryRaw`SELECT id FROM approvals WHERE id = ${id} AND merchant_id = ${decider.merchantId} FOR UPDATE`;
      const row = await tx.approval.findFirst({ where: { id, merchantId: decider.merchantId } });
      if (!row) throw notFound('approval');
      refuseUndecidable(row, decider, state);
      const data = { state, decidedBy: decider.actor, decidedAt: new Date() };
      const view = approvalView(await tx.approval.update({ where: { id }, data }));
      const action = state === 'approved' ? 'approval.approve' : 'approval.refuse';
      return { result: view, action, targetId: id, before: { state: row.state }, after: view };
    });
  }
}

/** The one who asked may take its request back, and never approve it. */
function refuseUndecidable(row: ApprovalRow, { actor, scopes }: Viewer, state: 'approved' | 'refused'): void {
  const isOwn = row.requestedBy === actor;
  if (isOwn && state === 'approved')
    throw new Problem('own_request', 'A second user has to approve what you asked for.');
  const missing = row.scopes.filter((scope) => !holdsScope(scopes, scope));
  if (!isOwn && missing.length > 0)
    throw new Problem('scope_not_held', `You lack scopes of this request: ${missing.join(', ')}.`);
  if (row.state !== 'pending' || row.expiresAt <= new Date())
    throw new Problem('approval_closed', `It is ${stateOf(row)}.`);
}

function heldScopes({ scopes }: Viewer): string[] {
  return SCOPES.filter((scope) => holdsScope(scopes, scope));
}

function stateFilter(state: ApprovalStateView | undefined): Prisma.ApprovalWhereInput {
  const now = new Date();
  switch (state) {
    case undefined:
      return {};
    case 'expired':
      return { state: { in: ['pending', 'approved'] }, expiresAt: { lte: now } };
    case 'pending':
    case 'approved':
      return { state, expiresAt: { gt: now } };
    case 'refused':
    case 'used':
      return { state };
  }
}

function stateOf(row: Pick<ApprovalRow, 'state' | 'expiresAt'>): ApprovalStateView {
  const mayExpire = row.state === 'pending' || row.state === 'approved';
  return mayExpire && row.expiresAt <= new Date() ? 'expired' : row.state;
}

function approvalView(row: ApprovalRow): ApprovalView {
  return {
    ...viewOfColumns(row, 'id', 'action', 'subjectId', 'request'),
    state: stateOf(row),
    ...viewOfColumns(row, 'requestedBy', 'requestedAt', 'expiresAt', 'decidedBy', 'decidedAt'),
  };
}
