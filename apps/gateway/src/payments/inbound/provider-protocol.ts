import type { FastifyRequest } from 'fastify';
import type { InboundAnswer, InboundRequest, ProviderCode, ProviderDefinition } from '#payments';
import type { OpenAccount } from '../accounts/account-settings.js';
import { providerBodyOf } from './provider-bodies.js';

/** A call that names an account of ours. */
export interface ProviderRequest {
  account: OpenAccount;
  address: string;
  request: InboundRequest;
  /** Its caller may have been answered already, or have stopped waiting. */
  isLate: () => boolean;
}

/** Whose words a call is answered in. */
export interface ProviderProtocol {
  answer(asked: ProviderRequest): Promise<InboundAnswer>;
  /** Our fault: the provider is to ask again. @param account as far as it is known without reading */
  failure(request: InboundRequest, account: Pick<OpenAccount, 'provider' | 'values'>): InboundAnswer;
}

export type ProtocolOf = (provider: ProviderCode) => ProviderProtocol;
export const PROTOCOL_OF = Symbol('protocolOf');

/** A provider that does both drives by path and hints without one. */
export function isDriven({ hints }: ProviderDefinition, operation: string): boolean {
  return hints === undefined || operation !== '';
}

/** @param operation what follows the account in the path */
export function inboundRequestOf(request: FastifyRequest, operation: string, isKnownSource: boolean): InboundRequest {
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
    isKnownSource,
  };
}
