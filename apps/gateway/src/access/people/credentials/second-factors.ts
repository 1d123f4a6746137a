import { Inject, Injectable } from '@nestjs/common';
import { PrismaService, totpOwner, type Prisma } from '#database';
import { deriveKey, open, seal } from '#secrets';
import type { GatewaySettings } from '../../../settings.js';
import { SETTINGS_TOKEN } from '../../../tokens.js';
import { derivedTotpSecret, otpauthUrl, totpStep } from './totp.js';

/** For setting an app up: typed in, or as a QR code. */
export interface TotpOffer {
  secret: string;
  otpauth_url: string;
}

const ISSUER = 'Fiscal gateway';
/** Takes the place of the secret of an account that there is not. */
const NO_SECRET = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

/** Time-based codes of people. */
@Injectable()
export class SecondFactors {
  private readonly offerKey: Buffer;

  constructor(
    private readonly prisma: PrismaService,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY'>,
  ) {
    this.offerKey = deriveKey(settings.SECRETS_KEY, 'totp-offer');
  }

  /** A secret for a new app. It is kept nowhere until it is confirmed: the same subject is offered the same one again. */
  offer(subject: string, account: string): TotpOffer {
    const secret = derivedTotpSecret(this.offerKey, subject);
    return { secret, otpauth_url: otpauthUrl(secret, { issuer: ISSUER, account }) };
  }

  /** The step of a code of the offered secret; null: it is none. */
  confirmOffer(subject: string, code: string): number | null {
    return totpStep(derivedTotpSecret(this.offerKey, subject), code, Date.now() / 1_000);
  }

  /** What is stored for a confirmed offer. */
  sealedOffer(subject: string, userId: string): Uint8Array<ArrayBuffer> {
    const secret = derivedTotpSecret(this.offerKey, subject);
    return new Uint8Array(seal(secret, totpOwner(userId), this.settings.SECRETS_KEY));
  }

  /** The step that a code belongs to. @param user null: there is no such account; it takes as long */
  stepOf(user: { id: string; totpSealed: Uint8Array | null } | null, code: string): number | null {
    const sealed = user?.totpSealed ?? null;
    const secret = sealed === null || !user ? NO_SECRET : open(sealed, totpOwner(user.id), this.settings.SECRETS_KEY);
    const step = totpStep(secret, code, Date.now() / 1_000);
    return sealed === null ? null : step;
  }

  /** A code counts once, and none before it counts any more. @returns false: it was used */
  async take(userId: string, step: number, tx: Prisma.TransactionClient = this.prisma): Promise<boolean> {
    const taken = await tx.$executeRaw`
      UPDATE users SET totp_step = ${BigInt(step)} WHERE id = ${userId} AND totp_step < ${BigInt(step)}`;
    return taken === 1;
  }
}
