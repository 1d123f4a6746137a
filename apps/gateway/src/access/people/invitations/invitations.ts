import { Inject, Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import { isId } from '#fiscal-domain';
import { Problem } from '#problems';
import { newId } from '#runtime';
import { AuditedChange } from '../../../audit/audited-change.js';
import type { Caller } from '../../../audit/caller.js';
import {
  isMerchantRole,
  isPlatformRole,
  PLATFORM,
  SCOPES_OF_ROLE,
  scopesOfRoles,
  type Role,
} from '../../../http/roles.js';
import { holdsScope, type Scope } from '../../../http/scopes.js';
import { notFound } from '../../../http/own-id.js';
import { pageOf, pageRequest, type Page, type PageQuery } from '../../../http/paging.js';
import { viewOfColumns } from '../../../http/view-of-columns.js';
import type { GatewaySettings } from '../../../settings.js';
import { SETTINGS_TOKEN } from '../../../tokens.js';
import { consoleAddress } from '../console-address.js';
import { hashInvitationToken, newInvitationToken } from './invitation-token.js';
import { lockMemberships } from './lock-memberships.js';

export interface InvitationView {
  id: string;
  email: string;
  roles: string[];
  invited_by: string;
  created_at: string;
  expires_at: string;
}

export interface InvitationWithLinkView extends InvitationView {
  /** Shown once. */
  url: string;
}

export type InvitationRow = Prisma.InvitationGetPayload<object>;

/** Who gives roles, and what it holds itself. */
export interface RoleGiver extends Caller {
  scopes: readonly string[];
  roles: readonly string[];
}

export interface NewInvitation {
  email: string;
  roles: readonly Role[];
  /** Null: to the platform alone. */
  merchantId: string | null;
  /** Of a recovery: whose. */
  userId?: string | null;
}

const MAX_OPEN = 200;

/** Links that open once: how a user comes to be, and how one that has lost its factors comes back. */
@Injectable()
export class Invitations {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
    @Inject(SETTINGS_TOKEN)
    private readonly settings: Pick<GatewaySettings, 'CONSOLE_URL' | 'PUBLIC_URL' | 'INVITATION_HOURS'>,
  ) {}

  /** Open ones, by the merchant or of the platform. */
  async list(place: string, query: PageQuery): Promise<Page<InvitationView>> {
    const { limit, afterId } = pageRequest(query, 'inv');
    const rows = await this.prisma.invitation.findMany({
      where: {
        ...placeOf(place),
        ...{ usedAt: null, revokedAt: null, userId: null, expiresAt: { gt: new Date() } },
        ...(afterId !== null && { id: { gt: afterId } }),
      },
      orderBy: { id: 'asc' },
      take: limit + 1,
    });
    return pageOf(rows, limit, invitationView);
  }

  /** @throws Problem 403 scope_not_held; 409 already_member, in_use */
  async invite(
    giver: RoleGiver,
    { email, roles }: { email: string; roles: readonly Role[] },
  ): Promise<InvitationWithLinkView> {
    refuseForeignRoles(giver, roles);
    const merchantId = giver.merchantId === PLATFORM ? null : giver.merchantId;
    const member = await this.prisma.membership.findFirst({
      where: { user: { email: email.toLowerCase() }, merchantId },
      select: { id: true },
    });
    if (member) throw new Problem('already_member', 'The user is a member already. Change its roles instead.');
    const open = await this.prisma.invitation.count({
      where: { merchantId, usedAt: null, revokedAt: null, expiresAt: { gt: new Date() } },
    });
    if (open >= MAX_OPEN) throw new Problem('in_use', `${MAX_OPEN} invitations are open. Withdraw some first.`);
    return this.create(giver, { email, roles, merchantId });
  }

  /** What the caller holds is not checked: for the command line, and for recoveries. */
  async create(caller: Caller, invitation: NewInvitation): Promise<InvitationWithLinkView> {
    const token = newInvitationToken();
    const { email, roles, merchantId, userId = null } = invitation;
    const hash = hashInvitationToken(token);
    if (!hash) throw new Error('a new token does not look like one');
    return this.changes.execute(caller, async (tx) => {
      const row = await tx.invitation.create({
        data: {
          id: newId('inv'),
          tokenHash: new Uint8Array(hash),
          email: email.toLowerCase(),
          ...{ merchantId, roles: [...roles], userId },
          invitedBy: caller.actor,
          expiresAt: new Date(Date.now() + this.settings.INVITATION_HOURS * 3_600_000),
        },
      });
      const view = invitationView(row);
      const action = userId === null ? 'user.invite' : 'user.begin_recovery';
      const result = { ...view, url: `${consoleAddress(this.settings).url}/invitation#${token}` };
      return { result, action, targetId: userId ?? row.id, before: null, after: view };
    });
  }

  /** @throws Problem 404 */
  async withdraw(caller: Caller, id: string): Promise<void> {
    await this.changes.execute(caller, async (tx) => {
      const where = { id, ...placeOf(caller.merchantId), usedAt: null, revokedAt: null };
      const { count } = await tx.invitation.updateMany({ where, data: { revokedAt: new Date() } });
      if (count === 0) throw notFound('open invitation');
      return {
        result: null,
        action: 'user.withdraw_invitation',
        targetId: id,
        before: null,
        after: { withdrawn: true },
      };
    });
  }

  /** One that still opens. @throws Problem 404 invitation_invalid */
  async find(token: string): Promise<InvitationRow> {
    const hash = hashInvitationToken(token);
    const row = hash && (await this.prisma.invitation.findFirst({ where: { tokenHash: new Uint8Array(hash) } }));
    if (!row || row.usedAt || row.revokedAt || row.expiresAt <= new Date()) throw invitationInvalid();
    if (!(await mayStillInvite(this.prisma, row))) throw invitationInvalid();
    return row;
  }

  /** Opens it, once; links to the same account that were not opened end with a recovery. @throws Problem 404 invitation_invalid */
  async use(tx: Prisma.TransactionClient, row: InvitationRow): Promise<void> {
    // The inviter loses its rights before or after this, not meanwhile.
    await lockMemberships(tx, row.merchantId ?? PLATFORM);
    const used = await tx.$executeRaw`
      UPDATE invitations SET used_at = now()
       WHERE id = ${row.id} AND used_at IS NULL AND revoked_at IS NULL AND expires_at > now()`;
    if (used !== 1 || !(await mayStillInvite(tx, row))) throw invitationInvalid();
    if (row.userId === null) return;
    await tx.$executeRaw`
      UPDATE invitations SET revoked_at = now()
       WHERE user_id = ${row.userId} AND id <> ${row.id} AND used_at IS NULL AND revoked_at IS NULL`;
  }

  /** Gives what the invitation says. What the user has already stays, and is the invitation's from here on: a claim that goes does not take it along. */
  async giveRoles(tx: Prisma.TransactionClient, userId: string, { merchantId, roles }: InvitationRow): Promise<void> {
    for (const role of roles) {
      const place = isPlatformRole(role) ? null : merchantId;
      await tx.$executeRaw`
        UPDATE memberships SET origin = 'invitation'
         WHERE user_id = ${userId} AND merchant_id IS NOT DISTINCT FROM ${place} AND role = ${role} AND origin = 'oidc'`;
      await tx.$executeRaw`
        INSERT INTO memberships (id, user_id, merchant_id, role) VALUES (${newId('mem')}, ${userId}, ${place}, ${role})
        ON CONFLICT DO NOTHING`;
    }
  }
}

export function invitationInvalid(): Problem {
  return new Problem('invitation_invalid', 'The link was used, has expired, was withdrawn, or is none.');
}

/**
 * A user gives only roles whose scopes it holds; an administrator of the platform makes owners of merchants without being one.
 * @throws Problem 403 scope_not_held
 */
export function refuseForeignRoles({ scopes, roles: own, merchantId }: RoleGiver, roles: readonly Role[]): void {
  const isPlatform = merchantId === PLATFORM;
  const isAdministrator = own.includes('platform_administrator');
  for (const role of roles) {
    const fits = isPlatform ? isPlatformRole(role) : isMerchantRole(role);
    const holds = isAdministrator || (!isPlatform && SCOPES_OF_ROLE[role].every((scope) => holdsScope(scopes, scope)));
    if (fits && holds) continue;
    const detail = fits ? `You lack scopes of the role ${role}.` : `${role} is no role that can be given here.`;
    throw Problem.at('/roles', fits ? 'scope_not_held' : 'invalid_value', detail);
  }
}

/**
 * A user that could no longer make the invitation has lost it too: one who is removed leaves no way in behind. What the command line or a
 * client of the API has made stays until it is withdrawn.
 */
async function mayStillInvite(
  prisma: Pick<Prisma.TransactionClient, 'user'>,
  { invitedBy, merchantId, roles, userId }: InvitationRow,
): Promise<boolean> {
  if (userId !== null) {
    const recovered = await prisma.user.findFirst({ where: { id: userId }, select: { disabledAt: true } });
    if (recovered?.disabledAt !== null) return false;
  }
  if (!isId('usr', invitedBy)) return true;
  const select = { disabledAt: true, memberships: { where: { OR: [{ merchantId }, { merchantId: null }] } } };
  const user = await prisma.user.findFirst({ where: { id: invitedBy }, select });
  if (user?.disabledAt !== null) return false;
  const held = user.memberships;
  if (held.some((own) => own.merchantId === null && own.role === 'platform_administrator')) return true;
  const own = held.filter((one) => one.merchantId === merchantId).map(({ role }) => role);
  const scopes = scopesOfRoles(own.filter(isMerchantRole));
  const needed = roles.filter(isMerchantRole).flatMap((role) => SCOPES_OF_ROLE[role]);
  return roles.every(isMerchantRole) && ['users:admin', ...needed].every((scope) => holdsScope(scopes, scope as Scope));
}

export function placeOf(merchantId: string): { merchantId: string | null } {
  return { merchantId: merchantId === PLATFORM ? null : merchantId };
}

function invitationView(row: InvitationRow): InvitationView {
  return viewOfColumns(row, 'id', 'email', 'roles', 'invitedBy', 'createdAt', 'expiresAt');
}
