import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PrismaService, TENANT_SUFFIX, withinMerchant, withinShare } from '#database';
import { isId } from '#fiscal-domain';
import { addressGroup } from '#outgoing';
import type { Logger, Share } from '#runtime';
import { clientOf, shareOf } from '../http/current-client.js';
import { LOGGER } from '../tokens.js';

/**
 * The second lock behind the merchant's id in every statement: what a request reads, and what a person does, runs within its merchant,
 * so that a statement which forgets the id finds nothing of others (docs/adr/0090-row-security.md).
 */
@Injectable()
export class MerchantScopes implements OnModuleInit, OnApplicationBootstrap {
  /** Read when the program starts; a measurement turns it off and on again. */
  isOn = false;
  private isKnown = false;

  constructor(
    private readonly server: HttpAdapterHost,
    private readonly prisma: PrismaService,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onModuleInit(): void {
    const fastify = this.server.httpAdapter.getInstance<FastifyInstance>();
    // Behind the request gate, which knows the client; in front of the handler and everything that it waits for.
    fastify.addHook('preHandler', (request, _reply, next) => {
      const merchantId = scopeOf(request);
      const share = shareOfCall(request);
      const done = share === null ? next : (error?: Error) => withinShare(share.name, () => next(error), share);
      if (merchantId === null) done();
      else if (this.isKnown) this.enter(merchantId, done);
      else this.read().then(() => this.enter(merchantId, done), done);
    });
  }

  /** A gateway starts without its database too; then the first request that needs it asks. */
  async onApplicationBootstrap(): Promise<void> {
    await this.read().catch((error: unknown) =>
      this.logger.warn({ err: error }, 'whether row-level security is on is not known yet'),
    );
  }

  private enter(merchantId: string, done: () => void): void {
    if (this.isOn) withinMerchant(merchantId, done);
    else done();
  }

  private async read(): Promise<void> {
    const [row] = await this.prisma.$queryRaw<{ is_there: boolean }[]>`
      SELECT to_regrole(quote_ident(session_user || ${TENANT_SUFFIX})) IS NOT NULL AS is_there`;
    this.isOn = row?.is_there ?? false;
    this.isKnown = true;
    if (!this.isOn) this.logger.warn('row-level security is off: the programs use the role that owns the tables');
  }
}

/** Null: for no merchant, or a program that writes. The grouped accept and the lanes work for many merchants in one statement. */
function scopeOf(request: FastifyRequest): string | null {
  const client = clientOf(request);
  if (!client || !isId('mer', client.merchantId) || isOverMerchants(request)) return null;
  // About the caller itself: a person's roles at all its merchants, and the trail of the platform.
  if (request.routeOptions.config.merchantOptional === true) return null;
  return isRead(request) || client.person ? client.merchantId : null;
}

function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** The share of what anyone may open, divided by address. */
const WITHOUT_ACCOUNT = 'without an account';
/** What people open without an account. Providers and probes are left out: their one address calls about all merchants. */
const OPEN_TO_ALL = /^\/(r|u|m|auth)\//;

/**
 * Out of whose share a call has its connections to the database; null: of none. Sales are written many at a time for all merchants, and
 * without what a context costs each promise.
 */
function shareOfCall(request: FastifyRequest): Omit<Share, 'hasBegun'> | null {
  const { url = '' } = request.routeOptions;
  const isAccepting = request.method === 'POST' && (url === '/v1/receipts' || url === '/v1/receipts/batch');
  const client = clientOf(request);
  if (client) return isAccepting ? null : { name: shareOf(client), isRead: isRead(request) };
  if (!OPEN_TO_ALL.test(url)) return null;
  return { name: addressGroup(request.ip) ?? 'none', within: WITHOUT_ACCOUNT, isRead: isRead(request) };
}

/** What the platform asks of all merchants. */
function isOverMerchants({ routeOptions: { config } }: FastifyRequest): boolean {
  return (config.scopes ?? []).some((scope: string) => scope.startsWith('platform:'));
}
