import { Controller, Delete, Get, Inject, Param, Patch, Post, Put, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isId, isTestId } from '#fiscal-domain';
import { PROVIDERS, type InboundAnswer, type ProviderCode } from '#payments';
import { HttpProblem } from '#http';
import { Problem } from '#problems';
import { CidrSet, parseCidr } from '#outgoing';
import { type Logger } from '#runtime';
import { notFound } from '../../http/own-id.js';
import { OwnAuthentication } from '../../http/scopes.js';
import { LOGGER } from '../../tokens.js';
import type { OpenAccount } from '../accounts/account-settings.js';
import { ProviderAccounts } from '../accounts/provider-accounts.js';
import { inboundOutcomeOf, PaymentMetrics } from '../payment-metrics.js';
import { PAYMENT_TIMING, type PaymentTiming } from '../payment-settings.js';
import { ProviderLogins } from './provider-logins.js';
import { ProviderProtocols, type ProviderCall } from './provider-protocols.js';

/** So much sooner than its caller is answered "not now" does a call count as late: a timer may be a millisecond early. */
const BEFORE = 0.9;

/** Where payment providers call: each proves who it is in its own way, and is answered in its own terms. */
@Controller('v1/providers')
export class ProviderCallsController {
  constructor(
    private readonly accounts: ProviderAccounts,
    private readonly protocols: ProviderProtocols,
    private readonly logins: ProviderLogins,
    private readonly metrics: PaymentMetrics,
    @Inject(PAYMENT_TIMING) private readonly timing: Pick<PaymentTiming, 'answerMs'>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Get(':provider/:account')
  @OwnAuthentication()
  callWithGet(
    @Param('provider') provider: string,
    @Param('account') accountId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.callByAnotherMethod(provider, accountId, request, reply);
  }

  @Put(':provider/:account')
  @OwnAuthentication()
  callWithPut(
    @Param('provider') provider: string,
    @Param('account') accountId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.callByAnotherMethod(provider, accountId, request, reply);
  }

  @Patch(':provider/:account')
  @OwnAuthentication()
  callWithPatch(
    @Param('provider') provider: string,
    @Param('account') accountId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.callByAnotherMethod(provider, accountId, request, reply);
  }

  @Delete(':provider/:account')
  @OwnAuthentication()
  callWithDelete(
    @Param('provider') provider: string,
    @Param('account') accountId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.callByAnotherMethod(provider, accountId, request, reply);
  }

  @Post(':provider/:account')
  @OwnAuthentication()
  call(
    @Param('provider') provider: string,
    @Param('account') accountId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.reply({ provider, accountId, operation: '' }, request, reply);
  }

  /** Providers that name what they want in the path. */
  @Post(':provider/:account/:operation')
  @OwnAuthentication()
  callByPath(
    @Param('provider') provider: string,
    @Param('account') accountId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { operation } = request.params as { operation: string };
    return this.reply({ provider, accountId, operation }, request, reply);
  }

  private async reply(
    { provider, accountId, operation }: { provider: string; accountId: string; operation: string },
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const code = PROVIDERS.find((known) => known === provider);
    if (!code) throw notFound('provider account');
    const call: ProviderCall = {
      code,
      accountId,
      operation,
      request,
      isLate: lateAfter(this.timing.answerMs * BEFORE),
    };
    const { status, body, contentType } = await this.inTime(call, () => this.answerFrom(call));
    const text = contentType === undefined ? JSON.stringify(body) : String(body);
    await reply
      .status(status)
      .type(contentType ?? 'application/json; charset=utf-8')
      .send(text);
  }

  /** Payme's protocol answers it (-32300, HTTP 200); the others have no word for it. */
  private async callByAnotherMethod(
    provider: string,
    accountId: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    if (provider === 'payme') return this.reply({ provider, accountId, operation: '' }, request, reply);
    const code = PROVIDERS.find((known) => known === provider);
    if (!code) throw notFound('provider account');
    await this.find(code, accountId);
    throw new HttpProblem('method_not_allowed', 'A provider calls with POST.', { allow: 'POST' });
  }

  /**
   * A provider waits two seconds at most. Where the database needs longer it is answered "not now", in its own terms, and asks
   * again. Meanwhile the first call goes on to its end: the repeat is answered from what that one wrote.
   */
  private async inTime(call: ProviderCall, answer: () => Promise<InboundAnswer>): Promise<InboundAnswer> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), this.timing.answerMs);
    });
    const answering = answer();
    const reply = await Promise.race([answering, late]).finally(() => clearTimeout(timer));
    if (reply) return reply;
    const { accountId } = call;
    this.metrics.wasCalled(call.code, 'late');
    this.logger.warn({ provider: call.code }, 'payment: a provider has to ask again, its call took too long');
    // The provider does not wait for it any more.
    answering.catch((error: unknown) => this.logger.warn({ err: error }, 'payment: the late call failed'));
    return this.protocols.failure(call, isId('pac', accountId) ? this.accounts.cached(accountId) : undefined);
  }

  /** Whatever goes wrong here is answered in the provider's terms, so that it asks again. */
  private async answerFrom(call: ProviderCall): Promise<InboundAnswer> {
    const { code, accountId, request } = call;
    try {
      const account = await this.find(code, accountId);
      const isKnown = isKnownSource(account, request.ip);
      if (!isKnown)
        this.logger.warn({ account_id: account.id, address: request.ip }, 'payment: a call from none of the sources');
      const isHeldBack = isKnown && this.protocols.hasPassword(call) && (await this.isHeldBack(account, call));
      // Whatever its password, it is answered as one that is wrong.
      const answer = await this.protocols.answer(account, call, isKnown && !isHeldBack);
      const outcome = isHeldBack ? 'held_back' : inboundOutcomeOf(code, isKnown, answer);
      this.metrics.wasCalled(code, outcome);
      return answer;
    } catch (error) {
      if (error instanceof Problem && error.code === 'not_found') throw error;
      this.metrics.wasCalled(code, 'failed');
      this.logger.error({ account_id: accountId, err: error }, 'payment: a call of a provider failed');
      return this.protocols.failure(call, isId('pac', accountId) ? this.accounts.cached(accountId) : undefined);
    }
  }

  private isHeldBack(account: OpenAccount, call: ProviderCall): Promise<boolean> {
    const isRight = this.protocols.isCaller(account, call);
    return this.logins.isHeldBack({ accountId: account.id, address: call.request.ip, isRight });
  }

  private async find(provider: ProviderCode, id: string): Promise<OpenAccount> {
    const account = isId('pac', id) ? await this.accounts.open(id) : undefined;
    // The provider of a sandbox is simulated: none calls, and no secret would prove who does.
    if (account?.provider !== provider || isTestId(account.merchantId)) throw notFound('provider account');
    return account;
  }
}

/** By the monotonic clock, which a machine that is suspended may stop, and by the wall clock, which may be set. */
function lateAfter(ms: number): () => boolean {
  const [monotonic, wall] = [performance.now(), Date.now()];
  return () => performance.now() - monotonic >= ms || Math.abs(Date.now() - wall) >= ms;
}

function isKnownSource({ sources }: OpenAccount, address: string): boolean {
  if (sources.length === 0) return true;
  const networks = sources.flatMap((text) => {
    const parse = parseCidr(text);
    return parse.kind === 'invalid' ? [] : [parse.cidr];
  });
  return new CidrSet(networks).contains(address);
}
