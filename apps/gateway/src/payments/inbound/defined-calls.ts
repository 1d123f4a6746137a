import { Injectable } from '@nestjs/common';
import { DEFINITIONS, type InboundAnswer, type InboundRequest } from '#payments';
import { notFound } from '../../http/own-id.js';
import { reader, type OpenAccount } from '../accounts/account-settings.js';
import { HintCalls } from './hint-calls.js';
import { isDriven, type ProviderProtocol, type ProviderRequest } from './provider-protocol.js';
import { TransactionCalls } from './transaction-calls.js';

/** Calls of the providers whose definition says how they drive, and how they hint. */
@Injectable()
export class DefinedCalls implements ProviderProtocol {
  constructor(
    private readonly transactions: TransactionCalls,
    private readonly hints: HintCalls,
  ) {}

  async answer(asked: ProviderRequest): Promise<InboundAnswer> {
    const definition = DEFINITIONS[asked.account.provider];
    const { operation } = asked.request;
    if (definition.inbound && isDriven(definition, operation))
      return this.transactions.answer(definition.inbound, asked);
    if (definition.hints && operation === '') return this.hints.answer(definition.hints, asked);
    throw notFound('provider call');
  }

  failure(request: InboundRequest, account: Pick<OpenAccount, 'provider' | 'values'>): InboundAnswer {
    const definition = DEFINITIONS[account.provider];
    if (definition.inbound && isDriven(definition, request.operation))
      return definition.inbound.failure(request, reader(account));
    return definition.hints?.failure ?? { status: 500, body: {} };
  }
}
