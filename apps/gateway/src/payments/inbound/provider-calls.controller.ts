import { Controller, Get, Inject, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isId } from '#fiscal-domain';
import { paymeAnswer, paymeError } from '#payments';
import { CidrSet, parseCidr, type Logger } from '#runtime';
import { notFound } from '../../http/own-id.js';
import { OwnAuthentication } from '../../http/scopes.js';
import { LOGGER } from '../../tokens.js';
import type { OpenAccount } from '../accounts/account-settings.js';
import { ProviderAccounts } from '../accounts/provider-accounts.js';
import { ClickCalls } from './click-calls.js';
import { MulticardCalls } from './multicard-calls.js';
import { PaymeCalls, type InboundCall } from './payme-calls.js';
import { providerBodyOf } from './provider-bodies.js';

/** Where payment providers call: each proves who it is in its own way, and is answered in its own words. */
@Controller('v1/providers')
export class ProviderCallsController {
  constructor(
    private readonly accounts: ProviderAccounts,
    private readonly payme: PaymeCalls,
    private readonly click: ClickCalls,
    private readonly multicard: MulticardCalls,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Payme wants to hear in its own words that this is no way to call. */
  @Get(':provider/:account')
  @OwnAuthentication()
  callWithGet(
    @Param('provider') provider: string,
    @Param('account') accountId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.call(provider, accountId, request, reply);
  }

  @Post(':provider/:account')
  @OwnAuthentication()
  async call(
    @Param('provider') provider: string,
    @Param('account') accountId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const account = await this.find(provider, accountId);
    const call: InboundCall = {
      account,
      method: request.method,
      authorization: request.headers.authorization,
      address: request.ip,
      body: providerBodyOf(request),
      isKnownSource: isKnownSource(account, request.ip),
    };
    if (!call.isKnownSource)
      this.logger.warn({ account_id: account.id, address: request.ip }, 'payment: a call from none of the sources');
    const { status, body } = await this.answer(call);
    await reply.status(status).type('application/json; charset=utf-8').send(JSON.stringify(body));
  }

  private async find(provider: string, id: string): Promise<OpenAccount> {
    const account = isId('pac', id) ? await this.accounts.open(id) : undefined;
    if (account?.provider !== provider) throw notFound('provider account');
    return account;
  }

  /** Whatever goes wrong here is said in the provider's words, so that it asks again. */
  private async answer(call: InboundCall): Promise<{ status: number; body: unknown }> {
    try {
      switch (call.account.provider) {
        case 'payme':
          return { status: 200, body: await this.payme.answer(call) };
        case 'click':
          if (!call.isKnownSource) return { status: 200, body: { error: -1, error_note: 'SIGN CHECK FAILED!' } };
          return { status: 200, body: await this.click.answer(call) };
        case 'multicard':
          return await this.multicard.answer(call);
      }
    } catch (error) {
      this.logger.error({ account_id: call.account.id, err: error }, 'payment: a call of a provider failed');
      return failureOf(call);
    }
  }
}

function failureOf({ account, body }: InboundCall): { status: number; body: unknown } {
  switch (account.provider) {
    case 'payme':
      return { status: 200, body: paymeAnswer(idIn(body), { error: paymeError('system') }) };
    case 'click':
      return { status: 200, body: { error: -7, error_note: 'Failed to update user' } };
    case 'multicard':
      return { status: 500, body: { success: false } };
  }
}

function idIn(body: string): number | null {
  const match = /"id"\s*:\s*(\d{1,15})\s*[,}]/.exec(body);
  return match ? Number(match[1]) : null;
}

function isKnownSource({ sources }: OpenAccount, address: string): boolean {
  if (sources.length === 0) return true;
  const networks = sources.flatMap((text) => {
    const parse = parseCidr(text);
    return parse.kind === 'invalid' ? [] : [parse.cidr];
  });
  return new CidrSet(networks).contains(address);
}
