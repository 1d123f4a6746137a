import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { Problem } from '#problems';
import type { Origin } from '../../limits/address-gate.js';
import { Passkeys } from '../credentials/passkeys.js';
import { Passwords } from '../credentials/passwords.js';
import { SecondFactors } from '../credentials/second-factors.js';
import { PersonRefusals } from './person-refusals.js';

const ACTION = 'user.refuse_login';

export interface PasswordLogin {
  email: string;
  password: string;
  code: string;
}

/** Proves who a user of our own is. Every refusal is the same, and takes as long, whether there is such an account or not. */
@Injectable()
export class LogIn {
  constructor(
    private readonly prisma: PrismaService,
    private readonly passwords: Passwords,
    private readonly factors: SecondFactors,
    private readonly passkeys: Passkeys,
    private readonly refusals: PersonRefusals,
  ) {}

  /** @returns the user's id @throws Problem 401 login_failed, 429 too_many_requests */
  async withPassword({ email, password, code }: PasswordLogin, origin: Origin): Promise<string> {
    const account = email.toLowerCase();
    const userId = await this.refusals.judge({ claim: { account }, origin, action: ACTION }, async () => {
      const user = await this.prisma.user.findFirst({ where: { email: account } });
      const fits = await this.passwords.matches(user?.passwordHash ?? null, password, origin.address);
      const step = this.factors.stepOf(user, code);
      const isProven = user !== null && fits && step !== null && user.disabledAt === null;
      const proven = isProven && (await this.factors.take(user.id, step)) ? user.id : null;
      return { proven, userId: user?.id ?? null };
    });
    if (userId === null) throw loginFailed();
    return userId;
  }

  /**
   * @param take the challenge that was begun, which is used up by it; null: there is none
   * @returns the user's id @throws Problem 401 login_failed, 429 too_many_requests
   */
  async withPasskey(
    credential: Record<string, unknown>,
    take: () => Promise<string | null>,
    origin: Origin,
  ): Promise<string> {
    // The account is only known when the passkey has proven it: the address alone is counted.
    const userId = await this.refusals.judge({ claim: { account: 'passkey' }, origin, action: ACTION }, async () => {
      const challenge = await take();
      const proof = challenge === null ? null : await this.passkeys.prove(credential, challenge);
      const user = proof && (await this.prisma.user.findFirst({ where: { id: proof.userId } }));
      return { proven: user?.disabledAt === null ? user.id : null, userId: user?.id ?? null };
    });
    if (userId === null) throw loginFailed();
    return userId;
  }
}

export function loginFailed(): Problem {
  return new Problem('login_failed', 'The login was refused: address, password, code or passkey are not right.');
}
