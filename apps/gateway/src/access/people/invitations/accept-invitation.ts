import { randomBytes } from 'node:crypto';
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

/** An invitation that a browser has opened, as its sealed cookie says. */
export interface BegunInvitation {
  invitationId: string;
  challenge: string;
  nonce: string;
}

/** What a user logs in with from now on. */
type Credentials =
  | { kind: 'password'; passwordHash: string; step: number; offer: string }
  | { kind: 'passkey'; passkey: NewPasskey };

const NONCE_BYTES = 24;

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

  /**
   * Each browser is offered an authenticator secret of its own, and the same again while its cookie lasts: who has made the link, or has
   * read it on its way, learns nothing of the factor of the one who accepts.
   * @param before what this browser has opened last
   * @throws Problem 404 invitation_invalid
   */
  async show(
    token: string,
    before: BegunInvitation | null,
  ): Promise<{ shown: OpenInvitationView; begun: BegunInvitation }> {
    const row = await this.invitations.find(token);
    const { id, email, merchantId, userId, roles, expiresAt } = row;
    const merchant =
      merchantId === null
        ? null
        : await this.prisma.merchant.findFirst({ where: { id: merchantId }, select: { id: true, name: true } });
    const user = await this.prisma.user.findFirst({ where: { email }, select: { id: true } });
    const passkeyOptions = await this.passkeys.newOptions(id, { email, name: email });
    const nonce = before?.invitationId === id ? before.nonce : randomBytes(NONCE_BYTES).toString('base64url');
    const begun = { invitationId: id, challenge: String(passkeyOptions['challenge']), nonce };
    const shown: OpenInvitationView = {
      kind: userId === null ? 'invitation' : 'recovery',
      ...{ email, merchant, roles, expires_at: expiresAt.toISOString() },
      account_exists: userId === null && user !== null,
      totp: this.factors.offer(offerOf(begun), email),
      passkey_options: passkeyOptions,
    };
    return { shown, begun };
  }

  /**
   * @param begun what the same browser has opened; null: nothing, or too long ago
   * @returns the user's id @throws Problem 404 invitation_invalid; 409 login_first; 422; 403 second_factor_refused
   */
  async execute(
    body: AcceptInvitationBody,
    begun: BegunInvitation | null,
    caller: Omit<Caller, 'actor'>,
  ): Promise<{ userId: string; way: 'password' | 'passkey' }> {
    const invitation = await this.invitations.find(body.token);
    const isRecovery = invitation.userId !== null;
    if (!isRecovery && (await this.prisma.user.findFirst({ where: { email: invitation.email } }))) throw loginFirst();
    const credentials = await this.credentialsOf(body, begun, invitation);
    const userId = invitation.userId ?? newId('usr');
    try {
      await this.changes.execute({ ...caller, actor: userId }, async (tx) => {
        await this.invitations.use(tx, invitation);
        if (isRecovery) await this.clear(tx, userId);
        else await tx.user.create({ data: { id: userId, email: invitation.email, name: body.name } });
        await this.store(tx, userId, credentials);
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
    begun: BegunInvitation | null,
    { id, email }: InvitationRow,
  ): Promise<Credentials> {
    const own = begun?.invitationId === id ? begun : null;
    if (credential !== undefined) {
      const passkey = own === null ? null : await this.passkeys.readNew(credential, own.challenge);
      if (!passkey) throw factorRefused();
      return { kind: 'passkey', passkey };
    }
    for (const [name, value] of Object.entries({ password, code })) {
      const detail = `${name} is required, unless there is a credential`;
      if (value === undefined) throw Problem.at(`/${name}`, 'required', detail);
    }
    const offer = own === null ? null : offerOf(own);
    const step = offer === null ? null : this.factors.confirmOffer(offer, code ?? '');
    if (offer === null || step === null) throw factorRefused();
    const passwordHash = await this.passwords.hashNew(password ?? '', { email, field: 'password' });
    return { kind: 'password', passwordHash, step, offer };
  }

  private async store(tx: Prisma.TransactionClient, userId: string, credentials: Credentials): Promise<void> {
    if (credentials.kind === 'passkey') {
      await this.passkeys.add(tx, userId, { ...credentials.passkey, name: 'Passkey' });
      return;
    }
    const { passwordHash, step, offer } = credentials;
    const totpSealed = this.factors.sealedOffer(offer, userId);
    await tx.user.update({ where: { id: userId }, data: { passwordHash, totpSealed, totpStep: BigInt(step) } });
  }

  /** The old factors, and the sessions that were begun with them, open nothing any more. */
  private async clear(tx: Prisma.TransactionClient, userId: string): Promise<void> {
    await tx.passkey.deleteMany({ where: { userId } });
    await tx.user.update({ where: { id: userId }, data: { passwordHash: null, totpSealed: null, totpStep: 0n } });
    await tx.$executeRaw`UPDATE user_sessions SET revoked_at = now() WHERE user_id = ${userId} AND revoked_at IS NULL`;
  }
}

function offerOf({ invitationId, nonce }: BegunInvitation): string {
  return `${invitationId} ${nonce}`;
}

export function loginFirst(): Problem {
  return new Problem(
    'login_first',
    'This address has an account. Log in, then open the invitation (POST /v1/me/invitations).',
  );
}

export function factorRefused(): Problem {
  const detail = 'The code or the passkey is not right, or is not of what this browser was shown.';
  return new Problem('second_factor_refused', detail);
}
