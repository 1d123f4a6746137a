import {
  notDocumented,
  patternOf,
  ProviderDocument,
  readProviderFile,
  type DocumentedCall,
  type ProviderExchange,
  type ProviderFile,
} from '../../../outgoing/src/testing/provider-document.js';
import type { ProviderCode } from '../port.js';

export type Exchange = ProviderExchange<ProviderCode>;

export function schemaFile(provider: ProviderCode): ProviderFile<ProviderCode> {
  return readProviderFile(`libs/payments/schemas/${provider}.json`);
}

/** Which documented call an exchange is: each provider distinguishes its calls in its own way. */
class ProviderSchema {
  private readonly document: ProviderDocument<ProviderCode>;

  constructor(private readonly provider: ProviderCode) {
    this.document = new ProviderDocument(schemaFile(provider));
  }

  violations(exchange: Exchange): string[] {
    const call = this.callOf(exchange);
    return call ? this.document.violations(call, exchange, isFailure(exchange)) : [notDocumented(exchange)];
  }

  /** The most literal path wins: `/payment/hold` is no payment with the id "hold". */
  private callOf(exchange: Exchange): DocumentedCall | undefined {
    const { provider } = this;
    const { by, path, request } = exchange;
    const calls = this.document.callsOf(exchange);
    if (provider === 'payme') {
      const name = (request as { method?: unknown } | null)?.method;
      return calls.find((call) => call.name === name);
    }
    if (by === 'provider' && (provider === 'click' || provider === 'multicard'))
      return calls.find((call) => call.name === callbackName(provider, request));
    const fitting = calls.filter((call) => patternOf(call.path).test(path));
    // Calls to one and the same address are distinguished by their bodies.
    if (by === 'provider') return fitting.find((call) => this.fits(call, request)) ?? fitting[0];
    return fitting.sort((left, right) => braces(left.path) - braces(right.path))[0];
  }

  private fits({ request }: DocumentedCall, said: unknown): boolean {
    return request === null || this.document.errors(request, said).length === 0;
  }
}

function callbackName(provider: ProviderCode, request: unknown): string {
  const fields = (request ?? {}) as Record<string, unknown>;
  if (provider === 'click') return fields['action'] === '1' ? 'complete' : 'prepare';
  return 'status' in fields ? 'webhook callback' : 'success callback';
}

function braces(path: string): number {
  return path.split('{').length;
}

/** As each provider says that a call came to nothing. */
function isFailure({ provider, by, status, answer }: Exchange): boolean {
  const fields = (answer ?? {}) as Record<string, unknown>;
  if (provider === 'payme' || provider === 'paynet') return 'error' in fields;
  if (by === 'provider') return status !== 200 && provider !== 'click' && provider !== 'multicard';
  const codes = ['error_code', 'errorCode', 'error'].filter((name) => name in fields);
  if (codes.length > 0 && provider !== 'multicard') return codes.some((name) => fields[name] !== 0);
  if (provider === 'atmos')
    return (fields['result'] as { code?: unknown } | undefined)?.code !== 'OK' && 'result' in fields;
  return status >= 300;
}

const SCHEMAS = new Map<ProviderCode, ProviderSchema>();

/** What of an exchange the provider's published documents do not have; empty: nothing. */
export function violationsOf(exchange: Exchange): string[] {
  const known = SCHEMAS.get(exchange.provider) ?? new ProviderSchema(exchange.provider);
  SCHEMAS.set(exchange.provider, known);
  return known.violations(exchange);
}

/** Replaces `{$example: name, …}` by the schema file's example of that definition, the other fields put over it. */
export function withExamples(provider: ProviderCode, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withExamples(provider, item));
  if (typeof value !== 'object' || value === null) return value;
  const { $example, ...rest } = value as Record<string, unknown>;
  const fields = Object.entries(rest).map(([key, item]) => [key, withExamples(provider, item)] as const);
  const example = typeof $example === 'string' ? exampleOf(provider, $example) : {};
  return { ...example, ...Object.fromEntries(fields) };
}

function exampleOf(provider: ProviderCode, name: string): Record<string, unknown> {
  const examples = schemaFile(provider).$defs[name]?.['examples'] as Record<string, unknown>[] | undefined;
  if (!examples?.[0]) throw new Error(`no example of ${name}`);
  return examples[0];
}
