import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { Invitations, type InvitationWithLinkView } from '../../access/people/invitations/invitations.js';
import { InvitationBody } from '../../access/people/users/user-bodies.js';
import { AuditedChange } from '../../audit/audited-change.js';
import { Merchants, type MerchantView } from '../../fleet/merchants/merchants.js';
import { isPlatformRole, PLATFORM } from '../../http/roles.js';
import type { Program } from './actor.js';
import { checked } from './checked.js';
import { merchantNamed } from './merchant-named.js';
import type { Given, ReadCommand } from './read-arguments.js';
import { UsageError } from './usage-error.js';

interface ListedUser {
  id: string;
  email: string;
  name: string;
  disabled_at: Date | null;
  last_login_at: Date | null;
  roles: { merchant: string | null; role: string }[];
}

const MAX_LISTED = 10_000;

/** `users …`: the first administrator, and the way back in for one who has lost everything. */
@Injectable()
export class UserCommands {
  constructor(
    private readonly prisma: PrismaService,
    private readonly merchants: Merchants,
    private readonly invitations: Invitations,
    private readonly changes: AuditedChange,
  ) {}

  /** @returns what is printed @throws UsageError */
  async run({ verb, target, values }: ReadCommand, program: Program): Promise<unknown> {
    const named = values['merchant'];
    const merchant = named === undefined ? null : await merchantNamed(this.merchants, named);
    switch (verb) {
      case 'invite':
        return this.invite(values, merchant, program);
      case 'list':
        return this.list(merchant);
      case 'recover':
        return this.recover(target, program);
      case 'release':
        return this.release(target, program);
      default:
        return this.switch(target, program, verb === 'enable');
    }
  }

  private async invite(given: Given, merchant: MerchantView | null, program: Program): Promise<InvitationWithLinkView> {
    const { email, roles } = given;
    if (email === undefined || roles === undefined) throw new UsageError('--email and --roles are needed');
    const body = checked(InvitationBody, { email, roles: roles.split(',').map((role) => role.trim()) });
    const isOfMerchant = body.roles.some((role) => !isPlatformRole(role));
    if (isOfMerchant !== (merchant !== null))
      throw new UsageError('--merchant belongs to roles of a merchant, and they need it');
    const merchantId = merchant?.id ?? null;
    const caller = { ...program, merchantId: merchantId ?? PLATFORM };
    return this.invitations.create(caller, { email: body.email, roles: body.roles, merchantId });
  }

  private async list(merchant: MerchantView | null): Promise<{ data: ListedUser[] }> {
    const merchantId = merchant?.id ?? null;
    const data = await this.prisma.$queryRaw<ListedUser[]>`
      SELECT u.id, u.email, u.name, u.disabled_at, u.last_login_at,
             coalesce(jsonb_agg(jsonb_build_object('merchant', c.code, 'role', m.role) ORDER BY c.code, m.role)
                        FILTER (WHERE m.id IS NOT NULL), '[]') AS roles
        FROM users u LEFT JOIN memberships m ON m.user_id = u.id LEFT JOIN merchants c ON c.id = m.merchant_id
       WHERE ${merchantId}::text IS NULL OR EXISTS (SELECT FROM memberships o WHERE o.user_id = u.id AND o.merchant_id = ${merchantId})
       GROUP BY u.id ORDER BY u.id LIMIT ${MAX_LISTED}`;
    return { data };
  }

  private async recover(address: string, program: Program): Promise<InvitationWithLinkView> {
    const { id: userId, email } = await this.userWith(address);
    const caller = { ...program, merchantId: PLATFORM };
    return this.invitations.create(caller, { email, roles: [], merchantId: null, userId });
  }

  private async switch(
    address: string,
    program: Program,
    isEnabled: boolean,
  ): Promise<{ id: string; email: string; disabled: boolean }> {
    const { id, email, disabledAt } = await this.userWith(address);
    await this.changes.execute({ ...program, merchantId: PLATFORM }, async (tx) => {
      await tx.user.update({ where: { id }, data: { disabledAt: isEnabled ? null : (disabledAt ?? new Date()) } });
      // What was logged in stays logged out when the user is enabled again.
      await tx.$executeRaw`UPDATE user_sessions SET revoked_at = now() WHERE user_id = ${id} AND revoked_at IS NULL`;
      const action = isEnabled ? 'user.enable' : 'user.disable';
      const [before, after] = [{ disabled: disabledAt !== null }, { disabled: !isEnabled }];
      return { result: null, action, targetId: id, before, after };
    });
    return { id, email, disabled: !isEnabled };
  }

  /**
   * That an address is its user’s is not proven: who may invite others can open the link, and its owner finds it taken. The account is shut out
   * under a name that no one has; links to the address, which those who made them have seen, end with it.
   */
  private async release(address: string, program: Program): Promise<{ id: string; email: string; disabled: true }> {
    const { id, email, disabledAt } = await this.userWith(address);
    const released = `${id}@released.invalid`;
    await this.changes.execute({ ...program, merchantId: PLATFORM }, async (tx) => {
      await tx.user.update({ where: { id }, data: { email: released, disabledAt: disabledAt ?? new Date() } });
      await tx.$executeRaw`UPDATE user_sessions SET revoked_at = now() WHERE user_id = ${id} AND revoked_at IS NULL`;
      await tx.$executeRaw`
        UPDATE invitations SET revoked_at = now() WHERE email = ${email} AND used_at IS NULL AND revoked_at IS NULL`;
      const [before, after] = [
        { email, disabled: disabledAt !== null },
        { email: released, disabled: true },
      ];
      return { result: null, action: 'user.release_address', targetId: id, before, after };
    });
    return { id, email: released, disabled: true };
  }

  private async userWith(address: string): Promise<{ id: string; email: string; disabledAt: Date | null }> {
    const user = await this.prisma.user.findFirst({ where: { email: address.toLowerCase() } });
    if (!user) throw new UsageError(`There is no user ${JSON.stringify(address)}.`);
    return user;
  }
}
