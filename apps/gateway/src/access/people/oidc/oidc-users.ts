import { Inject, Injectable } from '@nestjs/common';
import { isUniqueViolation, PrismaService, type Prisma } from '#database';
import { newId } from '#runtime';
import { AuditedChange } from '../../../audit/audited-change.js';
import type { Caller } from '../../../audit/caller.js';
import type { RoleRule } from '../../../http/role-rules.js';
import type { Role } from '../../../http/roles.js';
import type { GatewaySettings } from '../../../settings.js';
import { SETTINGS_TOKEN } from '../../../tokens.js';
import { Invitations, type InvitationRow } from '../invitations/invitations.js';
import type { Identity } from './identity-provider.js';

/** Why the browser is sent back to the login. */
export type LoginError = 'login_failed' | 'login_refused' | 'no_membership';

export type FoundUser = { kind: 'user'; userId: string } | { kind: 'refused'; error: LoginError };

/** A role at a place, as the rules give it. */
interface GivenRole {
  /** Null: of the platform. */
  merchantId: string | null;
  role: Role;
}

const MAX_VALUES = 200;
const MAX_NAME = 128;

/** Which user an identity of the provider is, and what it may do. */
@Injectable()
export class OidcUsers {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
    private readonly invitations: Invitations,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'OIDC_ROLES'>,
  ) {}

  /** The user that has this identity already; null: none. */
  async known({ issuer, subject }: Pick<Identity, 'issuer' | 'subject'>): Promise<string | null> {
    const where = { oidcIssuer: issuer, oidcSubject: subject, disabledAt: null };
    return (await this.prisma.user.findFirst({ where, select: { id: true } }))?.id ?? null;
  }

  /**
   * Who logs in. A user of our own with the same address is not the same person for that: anyone could claim an address at a
   * provider that does not check it.
   */
  async resolve(
    identity: Identity,
    invitation: InvitationRow | null,
    caller: Omit<Caller, 'actor'>,
  ): Promise<FoundUser> {
    const { issuer, subject, claims } = identity;
    const roles = await this.rolesOf(claims);
    const known = await this.prisma.user.findFirst({ where: { oidcIssuer: issuer, oidcSubject: subject } });
    if (known?.disabledAt) return { kind: 'refused', error: 'login_refused' };
    const email = known?.email ?? invitation?.email ?? emailOf(claims);
    if (email === null) return { kind: 'refused', error: 'login_refused' };
    if (!known && !invitation && roles.length === 0) return { kind: 'refused', error: 'no_membership' };
    const userId = known?.id ?? newId('usr');
    try {
      const count = await this.changes.execute({ ...caller, actor: userId }, async (tx) => {
        if (!known) {
          const identityOf = { oidcIssuer: issuer, oidcSubject: subject };
          await tx.user.create({ data: { id: userId, email, name: nameOf(claims, email), ...identityOf } });
        }
        const changed = await setRuleRoles(tx, userId, roles);
        if (invitation && invitation.userId === null && invitation.email === email) {
          await this.invitations.use(tx, invitation);
          await this.invitations.giveRoles(tx, userId, invitation);
        }
        const held = await tx.membership.count({ where: { userId } });
        // Nothing of a user without any right is written: the transaction ends as if it had not been.
        if (held === 0 && !known) throw new NoMembership();
        if (known && changed === 0 && !invitation) return { result: held, action: null };
        const after = { issuer, subject, email, rule_roles: roles.map(({ role }) => role) };
        return { result: held, action: 'user.oidc_login', targetId: userId, before: null, after };
      });
      return count === 0 ? { kind: 'refused', error: 'no_membership' } : { kind: 'user', userId };
    } catch (error) {
      if (error instanceof NoMembership) return { kind: 'refused', error: 'no_membership' };
      if (isUniqueViolation(error)) return { kind: 'refused', error: 'login_refused' };
      throw error;
    }
  }

  private async rolesOf(claims: Readonly<Record<string, unknown>>): Promise<GivenRole[]> {
    const fitting = this.settings.OIDC_ROLES.flatMap((rule) => placesOf(rule, claims));
    const codes = [...new Set(fitting.flatMap(({ code }) => (code === null ? [] : [code])))];
    const merchants = await this.prisma.merchant.findMany({
      where: { code: { in: codes } },
      select: { id: true, code: true },
    });
    const idOf = new Map(merchants.map(({ id, code }) => [code, id]));
    return fitting.flatMap(({ code, role }): GivenRole[] => {
      if (code === null) return [{ merchantId: null, role }];
      const merchantId = idOf.get(code);
      return merchantId === undefined ? [] : [{ merchantId, role }];
    });
  }
}

class NoMembership extends Error {
  override readonly name = 'NoMembership';
}

/** Exactly these, as far as rules gave them; what an invitation gave stays. @returns how many came or went */
async function setRuleRoles(
  tx: Prisma.TransactionClient,
  userId: string,
  roles: readonly GivenRole[],
): Promise<number> {
  const before = await tx.membership.findMany({ where: { userId, origin: 'oidc' } });
  const gone = before.filter(
    ({ merchantId, role }) => !roles.some((given) => given.merchantId === merchantId && given.role === role),
  );
  if (gone.length > 0) await tx.membership.deleteMany({ where: { id: { in: gone.map(({ id }) => id) } } });
  let added = 0;
  for (const { merchantId, role } of roles)
    added += await tx.$executeRaw`
      INSERT INTO memberships (id, user_id, merchant_id, role, origin)
      VALUES (${newId('mem')}, ${userId}, ${merchantId}, ${role}, 'oidc') ON CONFLICT DO NOTHING`;
  return gone.length + added;
}

function placesOf(rule: RoleRule, claims: Readonly<Record<string, unknown>>): { code: string | null; role: Role }[] {
  const values = valuesOf(claims, rule.claim);
  if (rule.merchant === '*') return values.map((code) => ({ code, role: rule.role }));
  const fits = rule.value === '*' ? values.length > 0 : values.includes(rule.value);
  return fits ? [{ code: rule.merchant, role: rule.role }] : [];
}

/** Texts of a claim. A name with dots leads into objects, unless there is a claim of that very name (a URL has dots too). */
export function valuesOf(claims: Readonly<Record<string, unknown>>, name: string): string[] {
  const found = Object.hasOwn(claims, name)
    ? claims[name]
    : name.split('.').reduce<unknown>((value, step) => {
        const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, step);
        return isObject ? (value as Record<string, unknown>)[step] : undefined;
      }, claims);
  return [found]
    .flat()
    .filter((value) => typeof value === 'string')
    .slice(0, MAX_VALUES);
}

function emailOf({ email, email_verified: isVerified }: Readonly<Record<string, unknown>>): string | null {
  const isEmail = typeof email === 'string' && email.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(email);
  return isEmail && isVerified !== false ? email.toLowerCase() : null;
}

function nameOf({ name }: Readonly<Record<string, unknown>>, email: string): string {
  const text = typeof name === 'string' ? name.replace(/[\u0000-\u001f\u007f\ud800-\udfff]/g, ' ').trim() : '';
  return text === '' ? email : text.slice(0, MAX_NAME);
}
