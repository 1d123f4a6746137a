import { Injectable, Inject } from '@nestjs/common';
import { PrismaService } from '#database';
import type { KnownClient } from '../../../http/current-client.js';
import { PLATFORM, platformScopesOf, scopesOfRoles } from '../../../http/roles.js';
import type { GatewaySettings } from '../../../settings.js';
import { SETTINGS_TOKEN } from '../../../tokens.js';
import type { LiveSession, LoginWay } from '../sessions/live-session.js';

export interface MerchantName {
  id: string;
  code: string;
  name: string;
}

/** How a second factor can be shown. */
export type StepUpMethod = 'totp' | 'passkey' | 'oidc';

export interface MeView {
  kind: 'user';
  user: { id: string; name: string; email: string };
  session: {
    id: string;
    login: LoginWay;
    created_at: string;
    expires_at: string;
    /** When it ends if it is not used. */
    idle_expires_at: string;
    /** Until when the second factor counts that was shown last; null: show one. */
    step_up_until: string | null;
  };
  /** Of this request; null: none was named, or the user acts for the platform. */
  merchant: MerchantName | null;
  roles: string[];
  scopes: string[];
  memberships: { merchant: MerchantName; roles: string[] }[];
  platform_roles: string[];
  step_up_methods: StepUpMethod[];
  factors: { password: boolean; totp: boolean; passkeys: number };
}

/** Where the session acts in this request. */
export type Acting = Pick<KnownClient, 'merchantId' | 'scopes'> & { roles: readonly string[] };

interface Facts {
  password: boolean;
  totp: boolean;
  oidc: boolean;
  passkeys: number;
}

/** Everything that a console has to know of the person in front of it. */
@Injectable()
export class DescribeMe {
  constructor(
    private readonly prisma: PrismaService,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SESSION_IDLE_SECONDS' | 'OIDC_ISSUER'>,
  ) {}

  /** @param acting left out: where a request would act that names no merchant */
  async execute(session: LiveSession, acting: Acting = withoutName(session)): Promise<MeView> {
    const facts = await this.factsOf(session.userId);
    const { userId, name, email, memberships, lastSeenMs, stepUpUntilMs } = session;
    const idleUntil = lastSeenMs + this.settings.SESSION_IDLE_SECONDS * 1_000;
    return {
      kind: 'user',
      user: { id: userId, name, email },
      session: {
        id: session.sessionId,
        login: session.login,
        created_at: session.createdAt.toISOString(),
        expires_at: session.expiresAt.toISOString(),
        idle_expires_at: new Date(Math.min(idleUntil, session.expiresAt.getTime())).toISOString(),
        step_up_until:
          stepUpUntilMs !== null && stepUpUntilMs > Date.now() ? new Date(stepUpUntilMs).toISOString() : null,
      },
      merchant: await this.merchantOf(session, acting.merchantId),
      roles: [...acting.roles],
      scopes: [...acting.scopes],
      memberships: memberships.map(({ merchantId: id, code, name: of, roles }) => ({
        merchant: { id, code, name: of },
        roles: [...roles],
      })),
      platform_roles: [...session.platformRoles],
      step_up_methods: [
        ...(facts.totp ? (['totp'] as const) : []),
        ...(facts.passkeys > 0 ? (['passkey'] as const) : []),
        ...(facts.oidc && this.settings.OIDC_ISSUER !== undefined ? (['oidc'] as const) : []),
      ],
      factors: { password: facts.password, totp: facts.totp, passkeys: facts.passkeys },
    };
  }

  private async factsOf(userId: string): Promise<Facts> {
    const [facts] = await this.prisma.$queryRaw<Facts[]>`
      SELECT password_hash IS NOT NULL AS password, totp_sealed IS NOT NULL AS totp, oidc_subject IS NOT NULL AS oidc,
             (SELECT count(*)::int4 FROM passkeys WHERE user_id = u.id) AS passkeys
        FROM users u WHERE id = ${userId}`;
    if (!facts) throw new Error(`user ${userId} has vanished`);
    return facts;
  }

  private async merchantOf({ memberships }: LiveSession, merchantId: string): Promise<MerchantName | null> {
    if (merchantId === PLATFORM) return null;
    const own = memberships.find((membership) => membership.merchantId === merchantId);
    if (own) return { id: own.merchantId, code: own.code, name: own.name };
    return this.prisma.merchant.findFirst({ where: { id: merchantId }, select: { id: true, code: true, name: true } });
  }
}

function withoutName({ platformRoles, memberships }: LiveSession): Acting {
  const [only, ...more] = memberships;
  if (platformRoles.length > 0 || !only || more.length > 0)
    return { merchantId: PLATFORM, roles: platformRoles, scopes: platformScopesOf(platformRoles) };
  return { merchantId: only.merchantId, roles: only.roles, scopes: scopesOfRoles(only.roles) };
}
