import {
  notDocumented,
  patternOf,
  ProviderDocument,
  readProviderFile,
  type ProviderExchange,
  type ProviderFile,
} from '../../../outgoing/src/testing/provider-document.js';
import type { MessageProviderCode } from '../port.js';

/** Providers that are called over HTTP; of SMTP the RFCs are the document, and real servers the proof. */
export const HTTP_PROVIDERS = ['eskiz', 'playmobile', 'telegram'] as const satisfies readonly MessageProviderCode[];
export type HttpProvider = (typeof HTTP_PROVIDERS)[number];

export function messageSchemaFile(provider: HttpProvider): ProviderFile<HttpProvider> {
  return readProviderFile(`libs/messages/schemas/${provider}.json`);
}

const DOCUMENTS = new Map<HttpProvider, ProviderDocument<HttpProvider>>();

function documentOf(provider: HttpProvider): ProviderDocument<HttpProvider> {
  const known = DOCUMENTS.get(provider) ?? new ProviderDocument(messageSchemaFile(provider));
  DOCUMENTS.set(provider, known);
  return known;
}

/** What of an exchange the provider's published documents do not have; empty: nothing. */
export function violationsOf(exchange: ProviderExchange<HttpProvider>): string[] {
  const document = documentOf(exchange.provider);
  const calls = document.callsOf(exchange);
  const call = exchange.by === 'provider' ? calls[0] : calls.find((each) => patternOf(each.path).test(exchange.path));
  if (!call) return [notDocumented(exchange)];
  const isFailure = exchange.status >= 300;
  // A failure that the documents do not describe may have any form.
  return document.violations(isFailure ? { ...call, answer: null } : call, exchange, isFailure);
}

export function errorsOf(provider: HttpProvider, name: string, value: unknown): string[] {
  return documentOf(provider).errors(name, value);
}
