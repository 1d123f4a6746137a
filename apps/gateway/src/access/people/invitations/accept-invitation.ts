import { Injectable } from '@nestjs/common';
import { isUniqueViolation, PrismaService, type Prisma } from '#database';
import { Problem } from '#problems';
import { newId } from '#runtime';
import { AuditedChange } from '../../../audit/audited-change.js';
import type { Caller } from '../../../audit/caller.js';
import { PLATFORM } from '../../../http/roles.js';
import { Passkeys, type BrowserOptions, type NewPasskey } from '../credentials/passkeys.js';
import { Passwords } from '../credentials/passwords.js';
import { SecondFactors, type TotpOffer } from '../credentials/second-factors.js';
import type { AcceptInvitationBody } from '../login/login-bodies.js';
import { invitationInvalid, Invitations, type InvitationRow } from './invitations.js';

export interface OpenInvitationView {
  /** `recovery`: new credentials for an account that there is. */
  kind: 'invitation' | 'recovery';
  email: string;
  merchant: { id: string; name: string } | null;
  roles: string[];
  expires_at: string;
  /** Log in with it, then `POST /v1/me/invitations`. */
  account_exists: boolean;
  totp: TotpOffer;
  passkey_options: BrowserOptions;
}

/** What a user logs in with from now on. */
type Credentials = { kind: 'password'; passwordHash: string; step: number } | { kind: 'passkey'; passkey: NewPasskey };

/** The link of an invitation or of a recovery is opened. */
@Injectable()
export class AcceptInvitation {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
    private readonly invitations: Invitations,
    private readonly passwords: Passwords,
    private readonly factors: SecondFactors,
    private readonly passkeys: Passkeys,
  ) {}

  /** @throws Problem 404 invitation_invalid */
  async show(token: string): Promise<OpenInvitationView> {
    const row = await this.invitations.find(token);
    const { id, email, merchantId, userId, roles, expiresAt } = row;
    const merchant =
      merchantId === null
        ? null
        : await this.prisma.merchant.findUnique({ where: { id: merchantId }, select: { id: true, name: true } });
    const user = await this.prisma.user.findUnique({ where: { email }, select: { id: true } });
    return {
      kind: userId === null ? 'invitation' : 'recovery',
      ...{ email, merchant, roles, expires_at: expiresAt.toISOString() },
      account_exists: userId === null && user !== null,
      totp: this.factors.offer(id, email),
      passkey_options: await this.passkeys.newOptions(id, { email, name: email }),
    };
  }

  /**
   * @param challenge of the passkey's options; null: no passkey was begun
   * @returns the user's id @throws Problem 404 invitation_invalid; 409 login_first; 422; 403 second_factor_refused
   */
  async execute(
    body: AcceptInvitationBody,
    challenge: string | null,
    caller: Omit<Caller, 'actor'>,
  ): Promise<{ userId: string; way: 'password' | 'passkey' }> {
    const invitation = await this.invitations.find(body.token);
    const isRecovery = invitation.userId !== null;
    if (!isRecovery && (await this.prisma.user.findUnique({ where: { email: invitation.email } }))) throw loginFirst();
    const credentials = await this.credentialsOf(body, challenge, invitation);
    const userId = invitation.userId ?? newId('usr');
    try {
      await this.changes.execute({ ...caller, actor: userId }, async (tx) => {
        await this.invitations.use(tx, invitation);
        if (isRecovery) await this.clear(tx, userId);
        else await tx.user.create({ data: { id: userId, email: invitation.email, name: body.name } });
        await this.store(tx, userId, credentials, invitation);
        await this.invitations.giveRoles(tx, userId, invitation);
        const after = { invitation_id: invitation.id, roles: invitation.roles, login: credentials.kind };
        const action = isRecovery ? 'user.recover' : 'user.accept_invitation';
        return { result: null, action, targetId: userId, before: null, after };
      });
    } catch (error) {
      throw isUniqueViolation(error) ? loginFirst() : error;
    }
    return { userId, way: credentials.kind };
  }

  /** By a user that is logged in: one more merchant. @throws Problem 404 invitation_invalid, also for another's */
  async join(token: string, caller: Caller, { email }: { email: string }): Promise<void> {
    const invitation = await this.invitations.find(token);
    if (invitation.userId !== null || invitation.email !== email) throw invitationInvalid();
    await this.changes.execute({ ...caller, merchantId: invitation.merchantId ?? PLATFORM }, async (tx) => {
      await this.invitations.use(tx, invitation);
      await this.invitations.giveRoles(tx, caller.actor, invitation);
      const after = { invitation_id: invitation.id, roles: invitation.roles };
      return { result: null, action: 'user.accept_invitation', targetId: caller.actor, before: null, after };
    });
  }

  private async credentialsOf(
    { password, code, credential }: AcceptInvitationBody,
    challenge: string | null,
    { id, email }: InvitationRow,
  ): Promise<Credentials> {
    if (credential !== undefined) {
      const passkey = challenge === null ? null : await this.passkeys.readNew(credential, challenge);
      if (!passkey) throw factorRefused();
      return { kind: 'passkey', passkey };
    }
    for (const [name, value] of Object.entries({ password, code })) {
      const detail = `${name} is required, unless there is a credential`;
      if (value === undefined) throw Problem.fromErrors([{ pointer: `/${name}`, code: 'required', detail }]);
    }
    const step = this.factors.confirmOffer(id, code ?? '');
    if (step === null) throw factorRefused();
    return { kind: 'password', passwordHash: await this.passwords.hashNew(password ?? '', { email }), step };
  }

  private async store(
    tx: Prisma.TransactionClient,
    userId: string,
    credentials: Credentials,
    { id }: InvitationRow,
  ): Promise<void> {
    if (credentials.kind === 'passkey') {
      await this.passkeys.add(tx, userId, { ...credentials.passkey, name: 'Passkey' });
      return;
    }
    const { passwordHash, step } = credentials;
    const totpSealed = this.factors.sealedOffer(id, userId);
    await tx.user.update({ where: { id: userId }, data: { passwordHash, totpSealed, totpStep: BigInt(step) } });
  }

  /** The old factors, and the sessions that were begun with them, open nothing any more. */
  private async clear(tx: Prisma.TransactionClient, userId: string): Promise<void> {
    await tx.passkey.deleteMany({ where: { userId } });
    await tx.user.update({ where: { id: userId }, data: { passwordHash: null, totpSealed: null, totpStep: 0n } });
    await tx.$executeRaw`UPDATE user_sessions SET revoked_at = now() WHERE user_id = ${userId} AND revoked_at IS NULL`;
  }
}

export function loginFirst(): Problem {
  return new Problem(
    'login_first',
    'This address has an account. Log in, then open the invitation (POST /v1/me/invitations).',
  );
}

export function factorRefused(): Problem {
  return new Problem('second_factor_refused', 'The code or the passkey is not right.');
}
