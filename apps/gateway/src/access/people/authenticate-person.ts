import { Injectable, Inject } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { PrismaService } from '#database';
import { isId } from '#fiscal-domain';
import { Problem } from '#problems';
import type { KnownClient } from '../../http/current-client.js';
import { readBearerCredentials } from '../../http/bearer-credentials.js';
import { PLATFORM, platformScopesOf, scopesOfRoles, type Role } from '../../http/roles.js';
import type { RouteAccess, Scope } from '../../http/scopes.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import { consoleAddress, refuseForeignPages, type ConsoleAddress } from './console-address.js';
import { cookieName, cookieValues } from './cookies.js';
import type { LiveSession } from './sessions/live-session.js';
import { hashSessionToken, isCookieToken, isTerminalToken } from './sessions/session-token.js';
import { Sessions } from './sessions/sessions.js';

const MERCHANT_HEADER = 'fgw-merchant';
/** Of requests that a page makes by itself, at intervals. */
const BACKGROUND_HEADER = 'fgw-background';

/** Where a session acts in one request, and as what. */
interface Place {
  merchantId: string;
  roles: readonly Role[];
  scopes: readonly Scope[];
}

const NOWHERE: Place = { merchantId: PLATFORM, roles: [], scopes: [] };

/** Finds whose session a request comes with, and turns it into the same principal that a token gives. */
@Injectable()
export class AuthenticatePerson {
  private readonly address: ConsoleAddress;
  private readonly cookie: string;

  constructor(
    private readonly sessions: Sessions,
    private readonly prisma: PrismaService,
    @Inject(SETTINGS_TOKEN) settings: Pick<GatewaySettings, 'CONSOLE_URL' | 'PUBLIC_URL'>,
  ) {
    this.address = consoleAddress(settings);
    this.cookie = cookieName('fgw_session', this.address);
  }

  /** Whether the request comes with a session. One that has an Authorization header is a client's, or that of a person's command line. */
  applies(request: FastifyRequest): boolean {
    if (request.headers.authorization !== undefined) return terminalTokenOf(request) !== null;
    return cookieValues(request, this.cookie).length > 0;
  }

  /**
   * @throws Problem 401 session_invalid; 403 origin_refused, csrf_header_missing, merchant_refused, login_needs_https;
   *   400 merchant_needed
   */
  async execute(request: FastifyRequest): Promise<KnownClient> {
    const isAtTerminal = terminalTokenOf(request) !== null;
    // What no browser sends by itself, no foreign page can make it send.
    if (!isAtTerminal) refuseForeignPages(request, this.address);
    const session = await this.sessionOf(request);
    if (!session) throw new Problem('session_invalid', 'The session has ended. Log in again.');
    const { merchantId, roles, scopes } = await this.placeOf(session, request);
    const { userId, sessionId, stepUpUntilMs } = session;
    return {
      ...{ clientId: userId, merchantId, scopes, requireIdempotencyKey: false, allowedCidrs: null },
      person: { userId, sessionId, roles, stepUpUntilMs, isAtTerminal },
    };
  }

  /** The session of a request, wherever it acts; null: it comes with none that is in force. */
  async sessionOf(request: FastifyRequest): Promise<LiveSession | null> {
    const [token, ...more] = this.tokensOf(request);
    const isItsKind = request.headers.authorization === undefined ? isCookieToken : isTerminalToken;
    if (token === undefined || more.length > 0 || !isItsKind(token)) return null;
    return this.sessions.find(token, request.headers[BACKGROUND_HEADER] === undefined);
  }

  /** Of the secret that a request with a session has shown. */
  sessionHashOf(request: FastifyRequest): Buffer {
    return hashSessionToken(this.tokensOf(request)[0] ?? '');
  }

  /** As it is in the database at this moment: after a change that this very request made. */
  async freshSessionOf(request: FastifyRequest): Promise<LiveSession | null> {
    this.forgetSessionOf(request);
    return this.sessionOf(request);
  }

  /** Here at once: the notice of its end, from which the other gateways know, may take a moment. */
  forgetSessionOf(request: FastifyRequest): void {
    for (const token of this.tokensOf(request)) this.sessions.forget(token);
  }

  private tokensOf(request: FastifyRequest): string[] {
    if (request.headers.authorization === undefined) return cookieValues(request, this.cookie);
    const token = terminalTokenOf(request);
    return token === null ? [] : [token];
  }

  private async placeOf(session: LiveSession, request: FastifyRequest): Promise<Place> {
    const { overMerchants, merchantOptional }: RouteAccess = request.routeOptions.config;
    const { memberships, platformRoles } = session;
    const platform = { merchantId: PLATFORM, roles: platformRoles, scopes: platformScopesOf(platformRoles) };
    if (overMerchants === true) return platform;
    const wanted = request.headers[MERCHANT_HEADER];
    if (wanted !== undefined) return this.namedPlace(session, String(wanted));
    if (platformRoles.length > 0) return platform;
    const [only, ...more] = memberships;
    if (only && more.length === 0) return placeAt(only.merchantId, only.roles);
    if (!only || merchantOptional === true) return NOWHERE;
    throw merchantNeeded();
  }

  private async namedPlace({ memberships, platformRoles }: LiveSession, wanted: string): Promise<Place> {
    const own = memberships.find(({ merchantId }) => merchantId === wanted);
    if (!own && (platformRoles.length === 0 || !(await this.exists(wanted)))) {
      throw new Problem('merchant_refused', 'Fgw-Merchant names no merchant of this user.');
    }
    return placeAt(wanted, [...(own?.roles ?? []), ...platformRoles]);
  }

  private async exists(merchantId: string): Promise<boolean> {
    if (!isId('mer', merchantId)) return false;
    return (await this.prisma.merchant.findFirst({ where: { id: merchantId }, select: { id: true } })) !== null;
  }
}

export function merchantNeeded(): Problem {
  return new Problem('merchant_needed', 'Send the header Fgw-Merchant with the id of one of your merchants.');
}

/** Of a person's command line; null: the header is a client's, or there is none. */
function terminalTokenOf({ raw, query }: FastifyRequest): string | null {
  const credentials = readBearerCredentials(raw.rawHeaders, query);
  return credentials.kind === 'token' && isTerminalToken(credentials.token) ? credentials.token : null;
}

function placeAt(merchantId: string, roles: readonly Role[]): Place {
  return { merchantId, roles, scopes: scopesOfRoles(roles) };
}
