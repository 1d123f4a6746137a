import { Injectable } from '@nestjs/common';
import { acrossMerchants, Prisma, PrismaService } from '#database';
import { isId } from '#fiscal-domain';
import { Problem } from '#problems';
import { newId } from '#runtime';
import { AuditedChange } from '../../../audit/audited-change.js';
import { notFound } from '../../../http/own-id.js';
import { pageOf, pageRequest, type Page, type PageQuery } from '../../../http/paging.js';
import { isPlatformRole, isRole, PLATFORM, type Role } from '../../../http/roles.js';
import { viewOfColumns } from '../../../http/view-of-columns.js';
import { refuseForeignRoles, type RoleGiver } from '../invitations/invitations.js';
import { lockMemberships } from '../invitations/lock-memberships.js';

export interface UserView {
  id: string;
  name: string;
  email: string;
  /** At this merchant, or on the platform. */
  roles: string[];
  last_login_at: string | null;
  /** When it became a member. */
  created_at: string;
}

interface UserRow extends Omit<UserView, 'last_login_at' | 'created_at'> {
  last_login_at: Date | null;
  created_at: Date;
}

/** Who may do something at a merchant, or on the platform. A user itself belongs to neither. */
@Injectable()
export class Users {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
  ) {}

  async list(place: string, query: PageQuery): Promise<Page<UserView>> {
    const { limit, afterId } = pageRequest(query, 'usr');
    const after = afterId === null ? Prisma.empty : Prisma.sql`AND m.user_id > ${afterId}`;
    const rows = await this.read(this.prisma, Prisma.sql`${at(place)} ${after}`, limit + 1);
    return pageOf(rows, limit, userView);
  }

  /** @throws Problem 404 */
  async get(place: string, id: string): Promise<UserView> {
    const [row] = await this.read(this.prisma, Prisma.sql`${at(place)} AND m.user_id = ${id}`, 1);
    if (!row) throw notFound('user');
    return userView(row);
  }

  /** @throws Problem 404; 403 scope_not_held; 409 last_owner */
  async setRoles(giver: RoleGiver, id: string, roles: readonly Role[]): Promise<UserView> {
    return this.change(giver, id, async (tx, before) => {
      refuseForeignRoles(
        giver,
        roles.filter((role) => !before.roles.includes(role)),
      );
      refuseForeignRoles(
        giver,
        before.roles.filter(isRole).filter((role) => !roles.includes(role)),
      );
      await tx.$executeRaw`DELETE FROM memberships m WHERE ${at(giver.merchantId)} AND m.user_id = ${id} AND NOT role = ANY (${[...roles]})`;
      const merchantId = giver.merchantId === PLATFORM ? null : giver.merchantId;
      for (const role of roles)
        await tx.$executeRaw`
          INSERT INTO memberships (id, user_id, merchant_id, role) VALUES (${newId('mem')}, ${id}, ${merchantId}, ${role})
          ON CONFLICT DO NOTHING`;
      return 'user.set_roles';
    });
  }

  /** The user stays for its other merchants. @throws Problem 404; 403 scope_not_held; 409 last_owner */
  async remove(giver: RoleGiver, id: string): Promise<void> {
    await this.change(giver, id, async (tx, before) => {
      refuseForeignRoles(giver, before.roles.filter(isRole));
      await tx.$executeRaw`DELETE FROM memberships m WHERE ${at(giver.merchantId)} AND m.user_id = ${id}`;
      return 'user.remove';
    });
  }

  /** The merchant's memberships change one after another: two owners cannot remove each other at once. */
  private async change(
    giver: RoleGiver,
    id: string,
    change: (tx: Prisma.TransactionClient, before: UserView) => Promise<string>,
  ): Promise<UserView> {
    const place = giver.merchantId;
    // Before the transaction: beside it they would need a second connection of the pool while the lock is held.
    const ofPlatform =
      place !== PLATFORM && giver.roles.some(isPlatformRole) ? await this.platformRolesOf(giver.actor) : [];
    return this.changes.execute<UserView>(giver, async (tx) => {
      await lockMemberships(tx, place);
      await refuseWhoLostRights(tx, giver, ofPlatform);
      const [row] = await this.read(tx, Prisma.sql`${at(place)} AND m.user_id = ${id}`, 1);
      if (!row) throw notFound('user');
      const before = userView(row);
      const action = await change(tx, before);
      await refuseWithoutOwner(tx, place);
      const [left] = await this.read(tx, Prisma.sql`${at(place)} AND m.user_id = ${id}`, 1);
      const after = left ? userView(left) : { ...before, roles: [] };
      return { result: after, action, targetId: id, before: { roles: before.roles }, after: { roles: after.roles } };
    });
  }

  /** They are no rows of the merchant. */
  private async platformRolesOf(userId: string): Promise<string[]> {
    const where = { userId, user: { disabledAt: null }, merchantId: null };
    const rows = await acrossMerchants(async () => this.prisma.membership.findMany({ where, select: { role: true } }));
    return rows.map(({ role }) => role);
  }

  private read(tx: Prisma.TransactionClient, where: Prisma.Sql, limit: number): Promise<UserRow[]> {
    return tx.$queryRaw<UserRow[]>`
      SELECT u.id, u.name, u.email, array_agg(m.role ORDER BY m.role) AS roles, u.last_login_at, min(m.created_at) AS created_at
        FROM memberships m JOIN users u ON u.id = m.user_id
       WHERE ${where} GROUP BY u.id ORDER BY u.id LIMIT ${limit}`;
  }
}

function at(place: string): Prisma.Sql {
  return place === PLATFORM ? Prisma.sql`m.merchant_id IS NULL` : Prisma.sql`m.merchant_id = ${place}`;
}

/** One that could still let others in. @throws Problem 409 last_owner */
async function refuseWithoutOwner(tx: Prisma.TransactionClient, place: string): Promise<void> {
  const role = place === PLATFORM ? 'platform_administrator' : 'owner';
  const [found] = await tx.$queryRaw<{ found: boolean }[]>`
    SELECT EXISTS (SELECT FROM memberships m JOIN users u ON u.id = m.user_id
                    WHERE ${at(place)} AND m.role = ${role} AND u.disabled_at IS NULL) AS found`;
  if (found?.found !== true) throw new Problem('last_owner', `At least one ${role.replace('_', ' ')} has to stay.`);
}

/** What a user held when its request came may be gone by the time that it has the lock. @throws Problem 403 insufficient_scope */
async function refuseWhoLostRights(
  tx: Prisma.TransactionClient,
  { actor, merchantId, roles }: RoleGiver,
  ofPlatform: readonly string[],
): Promise<void> {
  if (!isId('usr', actor)) return;
  const where = { userId: actor, user: { disabledAt: null } };
  const here = merchantId === PLATFORM ? null : merchantId;
  const rows = await tx.membership.findMany({ where: { ...where, merchantId: here }, select: { role: true } });
  const held = [...rows.map(({ role }) => role), ...ofPlatform];
  if (roles.every((role) => held.includes(role))) return;
  throw new Problem('insufficient_scope', 'Your roles have changed meanwhile. Ask again.');
}

function userView(row: UserRow): UserView {
  return viewOfColumns(row, 'id', 'name', 'email', 'roles', 'last_login_at', 'created_at');
}
