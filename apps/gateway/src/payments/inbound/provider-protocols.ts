import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import {
  clickFault,
  DEFINITIONS,
  paymeAnswer,
  paymeError,
  type InboundAnswer,
  type InboundRequest,
  type ProviderCode,
  type ProviderDefinition,
} from '#payments';
import { notFound } from '../../http/own-id.js';
import { reader, type OpenAccount } from '../accounts/account-settings.js';
import { ClickCalls } from './click-calls.js';
import { HintCalls } from './hint-calls.js';
import { MulticardCalls } from './multicard-calls.js';
import { PaymeCalls, type InboundCall } from './payme-calls.js';
import { providerBodyOf } from './provider-bodies.js';
import { TransactionCalls } from './transaction-calls.js';

/** A call as it came, before anything of it was checked. */
export interface ProviderCall {
  code: ProviderCode;
  accountId: string;
  operation: string;
  request: FastifyRequest;
  /** Its caller may have been answered already, or have stopped waiting. */
  isLate: () => boolean;
}

/** Whose words a call is answered in. */
@Injectable()
export class ProviderProtocols {
  constructor(
    private readonly payme: PaymeCalls,
    private readonly click: ClickCalls,
    private readonly multicard: MulticardCalls,
    private readonly transactions: TransactionCalls,
    private readonly hints: HintCalls,
  ) {}

  async answer(account: OpenAccount, call: ProviderCall, isKnown: boolean): Promise<InboundAnswer> {
    const { request, operation } = call;
    const definition = DEFINITIONS[account.provider];
    if (operation !== '' && definition.inbound === undefined) throw notFound('provider call');
    const known = inboundCallOf(account, request, isKnown);
    switch (account.provider) {
      case 'payme':
        return { status: 200, body: await this.payme.answer(known) };
      case 'click':
        if (!isKnown) return { status: 200, body: clickFault(known.body, -1) };
        return { status: 200, body: await this.click.answer(known) };
      case 'multicard':
        return this.multicard.answer(known);
      default: {
        const { isLate } = call;
        const asked = { account, address: request.ip, request: inboundRequestOf(call, isKnown), isLate };
        if (definition.inbound && isDriven(definition, operation))
          return this.transactions.answer(definition.inbound, asked);
        if (definition.hints && operation === '') return this.hints.answer(definition.hints, asked);
        throw notFound('provider call');
      }
    }
  }

  /** Whether this kind of call proves itself by a password, which can be guessed. */
  hasPassword({ code, operation }: ProviderCall): boolean {
    const definition = DEFINITIONS[code];
    return definition.isCaller !== undefined && isDriven(definition, operation);
  }

  /** Whether a call of this kind has the account's password. */
  isCaller(account: OpenAccount, { request }: ProviderCall): boolean {
    return DEFINITIONS[account.provider].isCaller?.(request.headers.authorization, reader(account)) ?? false;
  }

  /** Our fault: the provider is to ask again. @param account as far as it is known without reading */
  failure(call: ProviderCall, account: OpenAccount | undefined): InboundAnswer {
    const { code, operation, request } = call;
    const body = providerBodyOf(request);
    switch (code) {
      case 'payme':
        return { status: 200, body: paymeAnswer(idIn(body), { error: paymeError('system') }) };
      case 'click':
        return { status: 200, body: clickFault(body, -7) };
      case 'multicard':
        return { status: 500, body: { success: false } };
      default: {
        const definition = DEFINITIONS[code];
        if (definition.inbound && isDriven(definition, operation))
          return definition.inbound.failure(
            inboundRequestOf(call, true),
            reader(account ?? { provider: code, values: {} }),
          );
        return definition.hints?.failure ?? { status: 500, body: {} };
      }
    }
  }
}

/** A provider that does both drives by path and hints without one. */
function isDriven({ hints }: ProviderDefinition, operation: string): boolean {
  return hints === undefined || operation !== '';
}

function inboundCallOf(account: OpenAccount, request: FastifyRequest, isKnown: boolean): InboundCall {
  return {
    account,
    method: request.method,
    authorization: request.headers.authorization,
    address: request.ip,
    body: providerBodyOf(request),
    isKnownSource: isKnown,
  };
}

function inboundRequestOf({ request, operation }: ProviderCall, isKnown: boolean): InboundRequest {
  return {
    method: request.method,
    operation,
    authorization: request.headers.authorization,
    header: (name) => {
      const value = request.headers[name];
      return typeof value === 'string' ? value : undefined;
    },
    body: providerBodyOf(request),
    atMs: Date.now(),
    isKnownSource: isKnown,
  };
}

function idIn(body: string): number | null {
  const match = /"id"\s*:\s*(\d{1,15})\s*[,}]/.exec(body);
  return match ? Number(match[1]) : null;
}
