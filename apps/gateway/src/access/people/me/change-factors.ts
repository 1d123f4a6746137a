import { Injectable } from '@nestjs/common';
import { isUniqueViolation, PrismaService, type Prisma } from '#database';
import { Problem } from '#problems';
import { AuditedChange } from '../../../audit/audited-change.js';
import type { Caller } from '../../../audit/caller.js';
import { notFound } from '../../../http/own-id.js';
import type { Origin } from '../../limits/address-gate.js';
import { MAX_PASSKEYS, Passkeys } from '../credentials/passkeys.js';
import { Passwords } from '../credentials/passwords.js';
import { SecondFactors, type TotpOffer } from '../credentials/second-factors.js';
import { PersonRefusals } from '../login/person-refusals.js';
import { factorRefused } from '../invitations/accept-invitation.js';

export interface PasskeyView {
  id: string;
  name: string;
  created_at: string;
  last_used_at: string | null;
}

export interface NewPasskeyInput {
  name: string;
  credential: Record<string, unknown>;
  /** Null: none was begun, or it was used. */
  challenge: string | null;
}

/** A user changes what it logs in with. Each change stands on the trail, and none leaves it without a second factor. */
@Injectable()
export class ChangeFactors {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
    private readonly passwords: Passwords,
    private readonly factors: SecondFactors,
    private readonly passkeys: Passkeys,
    private readonly refusals: PersonRefusals,
  ) {}

  /** Other sessions end: who knew the old password is out. @throws Problem 403 second_factor_refused; 422 password_weak; 429 */
  async setPassword(
    caller: Caller,
    { current, next }: { current: string; next: string },
    origin: Origin,
  ): Promise<void> {
    const userId = caller.actor;
    // Only one who holds a session of the user can use this up; it is no place to try passwords at.
    const claim = { account: `password ${userId}`, isWithinSession: true };
    const user = await this.refusals.judge({ claim, origin, action: 'user.refuse_password' }, async () => {
      const found = await this.prisma.user.findFirstOrThrow({ where: { id: userId } });
      const fits = await this.passwords.matches(found.passwordHash, current, origin.address);
      return { proven: fits ? found : null, userId };
    });
    if (user === null) throw new Problem('second_factor_refused', 'The present password is not right.');
    const passwordHash = await this.passwords.hashNew(next, { email: user.email, field: 'new' });
    await this.change(caller, 'user.set_password', async (tx) => {
      await tx.user.update({ where: { id: userId }, data: { passwordHash } });
      const but = caller.sessionId ?? null;
      const ended = await tx.$executeRaw`
        UPDATE user_sessions SET revoked_at = now()
         WHERE user_id = ${userId} AND revoked_at IS NULL AND expires_at > now() AND id IS DISTINCT FROM ${but}`;
      return { ended_sessions: ended };
    });
  }

  async offerTotp({ actor, sessionId }: Caller): Promise<TotpOffer> {
    const { email } = await this.prisma.user.findFirstOrThrow({ where: { id: actor }, select: { email: true } });
    return this.factors.offer(offerOf(actor, sessionId), email);
  }

  /** @throws Problem 403 second_factor_refused */
  async confirmTotp(caller: Caller, code: string): Promise<void> {
    const { actor: userId, sessionId } = caller;
    const offer = offerOf(userId, sessionId);
    const step = this.factors.confirmOffer(offer, code);
    if (step === null) throw factorRefused();
    const totpSealed = this.factors.sealedOffer(offer, userId);
    await this.change(caller, 'user.set_totp', async (tx) => {
      await tx.user.update({ where: { id: userId }, data: { totpSealed, totpStep: BigInt(step) } });
      return {};
    });
  }

  async listPasskeys(userId: string): Promise<PasskeyView[]> {
    const rows = await this.prisma.passkey.findMany({ where: { userId }, orderBy: { id: 'asc' }, take: MAX_PASSKEYS });
    return rows.map(passkeyView);
  }

  /** @throws Problem 403 second_factor_refused; 409 in_use */
  async addPasskey(caller: Caller, { name, credential, challenge }: NewPasskeyInput): Promise<PasskeyView> {
    const userId = caller.actor;
    const passkey = challenge === null ? null : await this.passkeys.readNew(credential, challenge);
    if (!passkey) throw factorRefused();
    try {
      return await this.changes.execute(caller, async (tx) => {
        await lock(tx, userId);
        const many = await tx.passkey.count({ where: { userId } });
        if (many >= MAX_PASSKEYS) throw new Problem('in_use', `A user has at most ${MAX_PASSKEYS} passkeys.`);
        const id = await this.passkeys.add(tx, userId, { ...passkey, name });
        const view = passkeyView(await tx.passkey.findUniqueOrThrow({ where: { id } }));
        return { result: view, action: 'user.add_passkey', targetId: userId, before: null, after: view };
      });
    } catch (error) {
      throw isUniqueViolation(error) ? factorRefused() : error;
    }
  }

  /** @throws Problem 404; 409 last_factor */
  async removePasskey(caller: Caller, id: string): Promise<void> {
    const userId = caller.actor;
    await this.change(caller, 'user.remove_passkey', async (tx) => {
      const user = await lock(tx, userId);
      const { count } = await tx.passkey.deleteMany({ where: { id, userId } });
      if (count === 0) throw notFound('passkey');
      const left = await tx.passkey.count({ where: { userId } });
      const isWithout =
        left === 0 && (user.passwordHash === null || user.totpSealed === null) && user.oidcSubject === null;
      if (isWithout) throw new Problem('last_factor', 'Set up another factor first.');
      return { passkey_id: id };
    });
  }

  private async change(
    caller: Caller,
    action: string,
    change: (tx: Prisma.TransactionClient) => Promise<Record<string, unknown>>,
  ): Promise<void> {
    await this.changes.execute(caller, async (tx) => ({
      ...{ result: null, action, targetId: caller.actor, before: null },
      after: await change(tx),
    }));
  }
}

/** Another session is offered another secret. */
function offerOf(userId: string, sessionId: string | null | undefined): string {
  return `${userId} ${sessionId ?? ''}`;
}

async function lock(tx: Prisma.TransactionClient, userId: string): Promise<Prisma.UserGetPayload<object>> {
  await tx.$queryRaw`SELECT id FROM users WHERE id = ${userId} FOR NO KEY UPDATE`;
  return tx.user.findUniqueOrThrow({ where: { id: userId } });
}

function passkeyView(row: Prisma.PasskeyGetPayload<object>): PasskeyView {
  return {
    id: row.id,
    name: row.name,
    created_at: row.createdAt.toISOString(),
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
  };
}
