import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { AuditedChange } from '../../../audit/audited-change.js';
import type { Caller } from '../../../audit/caller.js';
import { notFound } from '../../../http/own-id.js';
import { pageOf, pageRequest, type Page, type PageQuery } from '../../../http/paging.js';
import { viewOfColumns } from '../../../http/view-of-columns.js';
import { SessionRepository } from './session.repository.js';

export interface SessionView {
  id: string;
  /** `password`, `passkey` or `oidc`. */
  login: string;
  address: string | null;
  user_agent: string | null;
  created_at: string;
  last_seen_at: string;
  expires_at: string;
  /** The one that asks. */
  current: boolean;
}

/** A user's own sessions, wherever it is logged in. */
@Injectable()
export class OwnSessions {
  constructor(
    private readonly prisma: PrismaService,
    private readonly repository: SessionRepository,
    private readonly changes: AuditedChange,
  ) {}

  async list(person: { userId: string; sessionId: string }, query: PageQuery): Promise<Page<SessionView>> {
    const { limit, afterId } = pageRequest(query, 'ses');
    const rows = await this.prisma.userSession.findMany({
      where: {
        ...{ userId: person.userId, revokedAt: null, expiresAt: { gt: new Date() } },
        ...(afterId !== null && { id: { gt: afterId } }),
      },
      omit: { tokenHash: true, idTokenSealed: true },
      orderBy: { id: 'asc' },
      take: limit + 1,
    });
    return pageOf(rows, limit, (row) => ({
      ...viewOfColumns(row, 'id', 'login', 'address', 'userAgent', 'createdAt', 'lastSeenAt', 'expiresAt'),
      current: row.id === person.sessionId,
    }));
  }

  /** @throws Problem 404 */
  async revoke(caller: Caller, sessionId: string): Promise<void> {
    await this.changes.execute(caller, async (tx) => {
      if (!(await this.repository.revoke(tx, caller.actor, sessionId))) throw notFound('session');
      const after = { session_id: sessionId };
      return { result: null, action: 'user.revoke_session', targetId: caller.actor, before: null, after };
    });
  }

  /** All but the one that asks. @returns how many */
  revokeOthers(caller: Caller): Promise<number> {
    return this.changes.execute(caller, async (tx) => {
      const revoked = await this.repository.revokeAll(tx, caller.actor, caller.sessionId ?? null);
      return {
        result: revoked,
        action: 'user.revoke_sessions',
        targetId: caller.actor,
        before: null,
        after: { revoked },
      };
    });
  }
}
