import { Controller, Delete, Get, Inject, Patch, Post, Put, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isId, isTestId } from '#fiscal-domain';
import { DEFINITIONS, PROVIDERS, type InboundAnswer, type ProviderCode } from '#payments';
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
import { inboundRequestOf, PROTOCOL_OF, type ProtocolOf } from './provider-protocol.js';

/** A call as it came, before anything of it was checked. */
interface ProviderCall {
  code: ProviderCode;
  accountId: string;
  operation: string;
  request: FastifyRequest;
}

interface TimedCall extends ProviderCall {
  /** Its caller may have been answered already, or have stopped waiting. */
  isLate: () => boolean;
}

/** So much sooner than its caller is answered "not now" does a call count as late: a timer may be a millisecond early. */
const BEFORE = 0.9;

/** Where payment providers call: each proves who it is in its own way, and is answered in its own terms. */
@Controller('v1/providers')
export class ProviderCallsController {
  constructor(
    private readonly accounts: ProviderAccounts,
    @Inject(PROTOCOL_OF) private readonly protocolOf: ProtocolOf,
    private readonly logins: ProviderLogins,
    private readonly metrics: PaymentMetrics,
    @Inject(PAYMENT_TIMING) private readonly timing: Pick<PaymentTiming, 'answerMs'>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Get(':provider/:account')
  @OwnAuthentication()
  callWithGet(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.callByAnotherMethod(request, reply);
  }

  @Put(':provider/:account')
  @OwnAuthentication()
  callWithPut(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.callByAnotherMethod(request, reply);
  }

  @Patch(':provider/:account')
  @OwnAuthentication()
  callWithPatch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.callByAnotherMethod(request, reply);
  }

  @Delete(':provider/:account')
  @OwnAuthentication()
  callWithDelete(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.callByAnotherMethod(request, reply);
  }

  @Post(':provider/:account')
  @OwnAuthentication()
  call(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.reply(request, reply);
  }

  /** Providers that name what they want in the path. */
  @Post(':provider/:account/:operation')
  @OwnAuthentication()
  callByPath(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.reply(request, reply);
  }

  private async reply(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const call = { ...callOf(request), isLate: lateAfter(this.timing.answerMs * BEFORE) };
    const { status, body, contentType } = await this.inTime(call, () => this.answerFrom(call));
    const text = contentType === undefined ? JSON.stringify(body) : String(body);
    await reply
      .status(status)
      .type(contentType ?? 'application/json; charset=utf-8')
      .send(text);
  }

  /** Payme's protocol answers it (-32300, HTTP 200); the others have no word for it. */
  private async callByAnotherMethod(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { code, accountId } = callOf(request);
    if (code === 'payme') return this.reply(request, reply);
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
    this.metrics.wasCalled(call.code, 'late');
    this.logger.warn({ provider: call.code }, 'payment: a provider has to ask again, its call took too long');
    // The provider does not wait for it any more.
    answering.catch((error: unknown) => this.logger.warn({ err: error }, 'payment: the late call failed'));
    return this.failure(call);
  }

  /** Whatever goes wrong here is answered in the provider's terms, so that it asks again. */
  private async answerFrom(call: TimedCall): Promise<InboundAnswer> {
    const { code, accountId, operation, request, isLate } = call;
    try {
      const account = await this.find(code, accountId);
      const isKnown = isKnownSource(account, request.ip);
      if (!isKnown)
        this.logger.warn({ account_id: account.id, address: request.ip }, 'payment: a call from none of the sources');
      const asked = { account, address: request.ip, request: inboundRequestOf(request, operation, isKnown), isLate };
      const isHeldBack = isKnown && (await this.logins.isHeldBack(asked));
      if (operation !== '' && DEFINITIONS[code].inbound === undefined) throw notFound('provider call');
      // Whatever its password, it is answered as one that is wrong.
      const judged = { ...asked.request, isKnownSource: isKnown && !isHeldBack };
      const answer = await this.protocolOf(code).answer({ ...asked, request: judged });
      const outcome = isHeldBack ? 'held_back' : inboundOutcomeOf(code, isKnown, answer);
      this.metrics.wasCalled(code, outcome);
      return answer;
    } catch (error) {
      if (error instanceof Problem && error.code === 'not_found') throw error;
      this.metrics.wasCalled(code, 'failed');
      this.logger.error({ account_id: accountId, err: error }, 'payment: a call of a provider failed');
      return this.failure(call);
    }
  }

  private failure({ code, accountId, operation, request }: ProviderCall): InboundAnswer {
    const known = isId('pac', accountId) ? this.accounts.cached(accountId) : undefined;
    const asked = inboundRequestOf(request, operation, true);
    // In the words of the provider that was called, whosever account this is.
    return this.protocolOf(code).failure(asked, { provider: code, values: known?.values ?? {} });
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

function callOf(request: FastifyRequest): ProviderCall {
  const { provider, account: accountId, operation = '' } = request.params as Record<string, string | undefined>;
  const code = PROVIDERS.find((known) => known === provider);
  if (!code || accountId === undefined) throw notFound('provider account');
  return { code, accountId, operation, request };
}

function isKnownSource({ sources }: OpenAccount, address: string): boolean {
  if (sources.length === 0) return true;
  const networks = sources.flatMap((text) => {
    const parse = parseCidr(text);
    return parse.kind === 'invalid' ? [] : [parse.cidr];
  });
  return new CidrSet(networks).contains(address);
}
