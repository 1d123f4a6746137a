import { Inject, Injectable } from '@nestjs/common';
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
  type AuthenticationResponseJSON,
  type RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { PrismaService, type Prisma } from '#database';
import { newId, sha256, type Logger } from '#runtime';
import type { GatewaySettings } from '../../../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../../../tokens.js';
import { consoleAddress, type ConsoleAddress } from '../console-address.js';

/** As browsers take it: the shape is WebAuthn's. */
export type BrowserOptions = Record<string, unknown>;

/** A passkey that a browser has made, checked. */
export interface NewPasskey {
  credentialId: string;
  publicKey: Uint8Array;
  counter: number;
  transports: string[];
}

/** What a passkey has proven. */
export interface PasskeyProof {
  userId: string;
  passkeyId: string;
}

const RP_NAME = 'Fiscal gateway';
const TIMEOUT_MS = 300_000;
export const MAX_PASSKEYS = 20;

/**
 * Passkeys with user verification: device and finger, or device and PIN, are two factors. A login with one needs no password and
 * names no account, so nothing can be enumerated.
 */
@Injectable()
export class Passkeys {
  private readonly address: ConsoleAddress;

  constructor(
    private readonly prisma: PrismaService,
    @Inject(SETTINGS_TOKEN) settings: Pick<GatewaySettings, 'CONSOLE_URL' | 'PUBLIC_URL'>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.address = consoleAddress(settings);
  }

  /** @param subject names the user's handle; nothing is read from it later */
  async newOptions(subject: string, { email, name }: { email: string; name: string }): Promise<BrowserOptions> {
    const known = await this.prisma.passkey.findMany({
      where: { userId: subject },
      select: { credentialId: true },
      take: MAX_PASSKEYS,
    });
    const options = await generateRegistrationOptions({
      rpName: RP_NAME,
      rpID: this.address.host,
      userName: email,
      userDisplayName: name,
      userID: new Uint8Array(sha256(subject)),
      timeout: TIMEOUT_MS,
      attestationType: 'none',
      excludeCredentials: known.map(({ credentialId }) => ({ id: credentialId })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
    return { ...options };
  }

  /** @param userId whose passkeys alone are asked for; null: any */
  async useOptions(userId: string | null): Promise<BrowserOptions> {
    const known =
      userId === null
        ? []
        : await this.prisma.passkey.findMany({ where: { userId }, select: { credentialId: true }, take: MAX_PASSKEYS });
    const options = await generateAuthenticationOptions({
      rpID: this.address.host,
      timeout: TIMEOUT_MS,
      userVerification: 'required',
      ...(userId !== null && { allowCredentials: known.map(({ credentialId }) => ({ id: credentialId })) }),
    });
    return { ...options };
  }

  /** Null: it proves nothing. */
  async readNew(credential: Record<string, unknown>, challenge: string): Promise<NewPasskey | null> {
    try {
      const response = credential as unknown as RegistrationResponseJSON;
      const { verified, registrationInfo } = await verifyRegistrationResponse({
        ...{ response, expectedChallenge: challenge, requireUserVerification: true },
        ...{ expectedOrigin: this.address.origin, expectedRPID: this.address.host },
      });
      if (!verified) return null;
      const { id, publicKey, counter, transports = [] } = registrationInfo.credential;
      return { credentialId: id, publicKey, counter, transports: transports.map(String).slice(0, 10) };
    } catch (error) {
      this.logger.debug({ err: error }, 'a new passkey was refused');
      return null;
    }
  }

  /** Null: it proves nothing. Which reason there was is answered to no caller. */
  async prove(credential: Record<string, unknown>, challenge: string): Promise<PasskeyProof | null> {
    const { id: credentialId } = credential;
    if (typeof credentialId !== 'string' || credentialId.length > 1_024 || credentialId.includes('\u0000')) return null;
    const row = await this.prisma.passkey.findFirst({ where: { credentialId } });
    if (!row) return null;
    try {
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response: credential as unknown as AuthenticationResponseJSON,
        ...{ expectedChallenge: challenge, requireUserVerification: true },
        ...{ expectedOrigin: this.address.origin, expectedRPID: this.address.host },
        credential: {
          id: row.credentialId,
          publicKey: new Uint8Array(row.publicKey),
          counter: Number(row.counter),
          transports: row.transports,
        },
      });
      if (!verified) return null;
      await this.prisma.$executeRaw`
        UPDATE passkeys SET counter = greatest(counter, ${BigInt(authenticationInfo.newCounter)}), last_used_at = now()
         WHERE id = ${row.id}`;
      return { userId: row.userId, passkeyId: row.id };
    } catch (error) {
      this.logger.debug({ err: error }, 'a passkey was refused');
      return null;
    }
  }

  async add(tx: Prisma.TransactionClient, userId: string, passkey: NewPasskey & { name: string }): Promise<string> {
    const id = newId('psk');
    const { credentialId, counter, transports, name } = passkey;
    const publicKey = new Uint8Array(passkey.publicKey);
    await tx.passkey.create({
      data: { id, userId, credentialId, publicKey, counter: BigInt(counter), transports, name },
    });
    return id;
  }
}
