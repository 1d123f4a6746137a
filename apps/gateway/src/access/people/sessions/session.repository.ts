import { Inject, Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { newId } from '#runtime';
import { seal } from '#secrets';
import { idTokenOwner } from '#database';
import { isMerchantRole, isPlatformRole } from '../../../http/roles.js';
import type { GatewaySettings } from '../../../settings.js';
import { SETTINGS_TOKEN } from '../../../tokens.js';
import type { Found } from '../../live/trusted-cache.js';
import type { LiveSession, LoginWay, MembershipOf } from './live-session.js';

interface SessionRow {
  session_id: string;
  user_id: string;
  email: string;
  name: string;
  login: LoginWay;
  created_at: Date;
  expires_at: Date;
  seen_ms_ago: number;
  stepped_up_ms_ago: number | null;
  remaining_ms: number;
  is_previous: boolean;
  memberships: { merchant_id: string | null; code: string | null; name: string | null; role: string }[];
}

export interface NewSession {
  hash: Buffer;
  userId: string;
  login: LoginWay;
  address: string | null;
  userAgent: string | null;
  /** Of the identity provider. */
  idToken: string | null;
  /** The session there. */
  sid: string | null;
}

export type NewTerminalSession = Pick<NewSession, 'hash' | 'userId' | 'address' | 'userAgent'>;

/** A session under its new secret. */
export interface Renewed {
  kind: 'renewed';
  userId: string;
  remainingSeconds: number;
}

/** What was shown is the secret of the session no more: another step-up at the same moment has renewed it. */
export interface Superseded {
  kind: 'superseded';
  userId: string;
}

/** What a renewed session gets. */
export interface Renewal {
  /** Of the secret that came with the request. */
  shownHash: Buffer;
  /** Of the new secret. */
  hash: Buffer;
  /** Of a new login at the identity provider; null: there was none. */
  atProvider: { idToken: string; sid: string | null } | null;
}

/** Far more than one person works for; who works for all has a role of the platform. */
const MEMBERSHIPS_READ = 2_000;
/** So long requests that were under way at a step-up may come with the secret before it: longer than any of them lasts. */
const PREVIOUS_SECONDS = 10;

/** Sessions in PostgreSQL. Times are the database's: all instances agree on what has ended. */
@Injectable()
export class SessionRepository {
  constructor(
    private readonly prisma: PrismaService,
    @Inject(SETTINGS_TOKEN)
    private readonly settings: Pick<
      GatewaySettings,
      'SECRETS_KEY' | 'SESSION_IDLE_SECONDS' | 'SESSION_MAX_SECONDS' | 'STEP_UP_SECONDS'
    >,
  ) {}

  /**
   * The session if it may be used now: known, not ended by time or by anyone, its user not disabled. What a claim of the identity
   * provider gave counts in what began there alone: nothing else asks whether the provider still knows the person.
   */
  async findLive(hash: Buffer): Promise<Found<LiveSession> | null> {
    const { SESSION_IDLE_SECONDS: idle, STEP_UP_SECONDS: stepUp } = this.settings;
    const [row] = await this.prisma.$queryRaw<SessionRow[]>`
      SELECT s.id AS session_id, u.id AS user_id, u.email, u.name, s.login, s.created_at, s.expires_at,
             (extract(epoch FROM now() - s.last_seen_at) * 1000)::float8 AS seen_ms_ago,
             (extract(epoch FROM now() - s.stepped_up_at) * 1000)::float8 AS stepped_up_ms_ago,
             (extract(epoch FROM least(s.expires_at, s.last_seen_at + make_interval(secs => ${idle}::int4),
                CASE WHEN s.token_hash <> ${hash} THEN s.renewed_at + make_interval(secs => ${PREVIOUS_SECONDS}::int4) END)
                - now()) * 1000)::float8 AS remaining_ms,
             s.token_hash <> ${hash} AS is_previous,
             coalesce((SELECT jsonb_agg(jsonb_build_object('merchant_id', m.merchant_id, 'code', m.code, 'name', m.name, 'role', m.role))
                         FROM (SELECT ms.merchant_id, c.code, c.name, ms.role
                                 FROM memberships ms LEFT JOIN merchants c ON c.id = ms.merchant_id
                                WHERE ms.user_id = u.id AND (ms.origin <> 'oidc' OR s.login = 'oidc') ORDER BY ms.merchant_id, ms.id LIMIT ${MEMBERSHIPS_READ}) AS m),
                      '[]') AS memberships
        FROM user_sessions s JOIN users u ON u.id = s.user_id
       WHERE (s.token_hash = ${hash}
              OR (s.previous_token_hash = ${hash} AND s.renewed_at > now() - make_interval(secs => ${PREVIOUS_SECONDS}::int4)))
         AND s.revoked_at IS NULL AND s.expires_at > now()
         AND s.last_seen_at > now() - make_interval(secs => ${idle}::int4) AND u.disabled_at IS NULL`;
    return row ? { value: liveSession(row, stepUp * 1_000), remainingMs: row.remaining_ms } : null;
  }

  /**
   * A login at an identity provider is no second factor: it may answer for a person who logged in there hours ago.
   * @returns its id
   */
  async insert(tx: Prisma.TransactionClient, session: NewSession): Promise<string> {
    const id = newId('ses');
    const { hash, userId, login, address, userAgent, idToken, sid } = session;
    const sealed = idToken === null ? null : seal(idToken, idTokenOwner(id), this.settings.SECRETS_KEY);
    await tx.$executeRaw`
      INSERT INTO user_sessions (id, token_hash, user_id, login, address, user_agent, id_token_sealed, oidc_sid,
                                 stepped_up_at, created_at, last_seen_at, expires_at)
      VALUES (${id}, ${hash}, ${userId}, ${login}, ${address}, ${userAgent}, ${sealed}, ${sid},
              CASE WHEN ${login} <> 'oidc' THEN now() END, now(), now(),
              now() + make_interval(secs => ${this.settings.SESSION_MAX_SECONDS}::int4))`;
    return id;
  }

  /**
   * A person's command line gets a session of its own from the browser's: the same login, the same second factor and no later, and
   * ended at the identity provider together with it.
   * @returns its id; null: the browser's has ended meanwhile
   */
  async insertOf(tx: Prisma.TransactionClient, parentId: string, terminal: NewTerminalSession): Promise<string | null> {
    const id = newId('ses');
    const { hash, userId, address, userAgent } = terminal;
    const { SESSION_IDLE_SECONDS: idle, SESSION_MAX_SECONDS: max } = this.settings;
    const inserted = await tx.$executeRaw`
      INSERT INTO user_sessions (id, token_hash, user_id, login, address, user_agent, oidc_sid, stepped_up_at, created_at, last_seen_at, expires_at)
      SELECT ${id}, ${hash}, s.user_id, s.login, ${address}, ${userAgent}, s.oidc_sid, s.stepped_up_at, now(), now(),
             now() + make_interval(secs => ${max}::int4)
        FROM user_sessions s JOIN users u ON u.id = s.user_id
       WHERE s.id = ${parentId} AND s.user_id = ${userId} AND s.revoked_at IS NULL AND s.expires_at > now()
         AND s.last_seen_at > now() - make_interval(secs => ${idle}::int4) AND u.disabled_at IS NULL
         FOR UPDATE OF s`;
    return inserted === 1 ? id : null;
  }

  /** Beyond so many sessions of a user the oldest end. */
  async endBeyond(tx: Prisma.TransactionClient, userId: string, most: number): Promise<void> {
    await tx.$executeRaw`
      UPDATE user_sessions SET revoked_at = now() WHERE id IN (
        SELECT id FROM user_sessions WHERE user_id = ${userId} AND revoked_at IS NULL AND expires_at > now()
         ORDER BY created_at DESC, id DESC OFFSET ${most})`;
  }

  /** The session was used; its rest begins anew. */
  async touch(sessionId: string): Promise<void> {
    await this.prisma.$executeRaw`UPDATE user_sessions SET last_seen_at = now() WHERE id = ${sessionId}`;
  }

  /**
   * A second factor was shown: it counts for the holder of the new secret alone.
   * @returns null: the session has ended meanwhile
   */
  async renew(
    tx: Prisma.TransactionClient,
    sessionId: string,
    { shownHash, hash, atProvider }: Renewal,
  ): Promise<Renewed | Superseded | null> {
    const { SESSION_IDLE_SECONDS: idle, SECRETS_KEY: key } = this.settings;
    const sealed = atProvider && seal(atProvider.idToken, idTokenOwner(sessionId), key);
    const isLive = Prisma.sql`
      id = ${sessionId} AND revoked_at IS NULL AND expires_at > now() AND last_seen_at > now() - make_interval(secs => ${idle}::int4)`;
    const [row] = await tx.$queryRaw<{ user_id: string; remaining: number }[]>`
      UPDATE user_sessions
         SET previous_token_hash = token_hash, token_hash = ${hash}, renewed_at = now(), stepped_up_at = now(),
             last_seen_at = now(), oidc_sid = coalesce(${atProvider?.sid ?? null}, oidc_sid),
             id_token_sealed = coalesce(${sealed}, id_token_sealed)
       WHERE ${isLive} AND token_hash = ${shownHash}
      RETURNING user_id, extract(epoch FROM expires_at - now())::float8 AS remaining`;
    if (row) return { kind: 'renewed', userId: row.user_id, remainingSeconds: Math.ceil(row.remaining) };
    const [live] = await tx.$queryRaw<{ user_id: string }[]>`SELECT user_id FROM user_sessions WHERE ${isLive}`;
    return live ? { kind: 'superseded', userId: live.user_id } : null;
  }

  /**
   * Ends the sessions that a session at the identity provider has begun; without its name all that the person has begun there.
   * @returns whose they were, each with the session that ended
   */
  endAtProvider(
    tx: Prisma.TransactionClient,
    { issuer, subject, sid }: { issuer: string; subject: string | null; sid: string | null },
  ): Promise<{ user_id: string; session_id: string }[]> {
    return tx.$queryRaw`
      UPDATE user_sessions s SET revoked_at = now()
        FROM users u
       WHERE u.id = s.user_id AND u.oidc_issuer = ${issuer} AND s.login = 'oidc' AND s.revoked_at IS NULL AND s.expires_at > now()
         AND ${subject === null ? Prisma.sql`s.oidc_sid = ${sid}` : ofPerson(subject, sid)}
      RETURNING s.user_id, s.id AS session_id`;
  }

  /** Ends the user's sessions; @param but one that stays; @returns how many ended */
  async revokeAll(tx: Prisma.TransactionClient, userId: string, but: string | null): Promise<number> {
    return tx.$executeRaw`
      UPDATE user_sessions SET revoked_at = now()
       WHERE user_id = ${userId} AND revoked_at IS NULL AND expires_at > now() AND id IS DISTINCT FROM ${but}`;
  }

  /** @returns false: the user has no such session in force */
  async revoke(tx: Prisma.TransactionClient, userId: string, sessionId: string): Promise<boolean> {
    const ended = await tx.$executeRaw`
      UPDATE user_sessions SET revoked_at = now()
       WHERE id = ${sessionId} AND user_id = ${userId} AND revoked_at IS NULL AND expires_at > now()`;
    return ended === 1;
  }

  /**
   * A month late: what was open is part of what an inquiry asks for. Who was invited, by whom and to what stays on the trail.
   * @returns how many rows were deleted
   */
  async sweep(): Promise<number> {
    const sessions = await this.prisma.$executeRaw`
      DELETE FROM user_sessions WHERE expires_at < now() - interval '30 days'`;
    const challenges = await this.prisma.$executeRaw`
      DELETE FROM used_challenges WHERE expires_at < now() - interval '1 hour'`;
    const invitations = await this.prisma.$executeRaw`
      DELETE FROM invitations WHERE least(used_at, revoked_at, expires_at) < now() - interval '30 days'`;
    return sessions + challenges + invitations;
  }

  /** @returns false: the challenge was answered before */
  async takeChallenge(hash: Buffer, seconds: number, within?: Prisma.TransactionClient): Promise<boolean> {
    const taken = await (within ?? this.prisma).$executeRaw`
      INSERT INTO used_challenges (hash, expires_at) VALUES (${hash}, now() + make_interval(secs => ${seconds}::int4))
      ON CONFLICT DO NOTHING`;
    return taken === 1;
  }
}

/** A session from before the provider named its own belongs to the person all the same. */
function ofPerson(subject: string, sid: string | null): Prisma.Sql {
  const person = Prisma.sql`u.oidc_subject = ${subject}`;
  return sid === null ? person : Prisma.sql`${person} AND (s.oidc_sid = ${sid} OR s.oidc_sid IS NULL)`;
}

function liveSession(row: SessionRow, stepUpMs: number): LiveSession {
  const now = Date.now();
  const byMerchant = new Map<string, MembershipOf>();
  for (const { merchant_id: merchantId, code, name, role } of row.memberships) {
    if (merchantId === null || !isMerchantRole(role)) continue;
    const known = byMerchant.get(merchantId);
    byMerchant.set(merchantId, {
      ...{ merchantId, code: code ?? '', name: name ?? '' },
      roles: [...(known?.roles ?? []), role],
    });
  }
  return {
    sessionId: row.session_id,
    userId: row.user_id,
    email: row.email,
    name: row.name,
    login: row.login,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastSeenMs: now - row.seen_ms_ago,
    stepUpUntilMs: row.is_previous || row.stepped_up_ms_ago === null ? null : now - row.stepped_up_ms_ago + stepUpMs,
    platformRoles: row.memberships.flatMap(({ merchant_id: id, role }) =>
      id === null && isPlatformRole(role) ? [role] : [],
    ),
    memberships: [...byMerchant.values()],
  };
}
