import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ProviderCode } from '../port.js';

/** One call of `x-calls` of a provider's schema file: what its published documentation says of it. */
export interface DocumentedCall {
  name: string;
  by: 'us' | 'provider';
  method: string;
  /** Below the API's base; segments in braces are values. */
  path: string;
  /** Names of `$defs`; null: none. */
  request: string | null;
  answer: string | null;
  failure?: string;
  'x-source': string;
}

export interface SchemaFile {
  'x-provider': ProviderCode;
  'x-sources': Record<string, { page: string; address: string }>;
  'x-open': { point: string; handling: string }[];
  'x-calls': DocumentedCall[];
  $defs: Record<string, Record<string, unknown>>;
}

/** A call as it went over the wire, in either direction. */
export interface Exchange {
  provider: ProviderCode;
  by: 'us' | 'provider';
  method: string;
  path: string;
  request: unknown;
  status: number;
  answer: unknown;
}

export function schemaFile(provider: ProviderCode): SchemaFile {
  return JSON.parse(readFileSync(`libs/payments/schemas/${provider}.json`, 'utf8')) as SchemaFile;
}

/** The documented calls of one provider, to hold what is sent and answered against. */
class ProviderSchema {
  private readonly file: SchemaFile;
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });

  constructor(provider: ProviderCode) {
    this.file = schemaFile(provider);
    this.ajv.addSchema(this.file, provider);
  }

  violations(exchange: Exchange): string[] {
    const call = this.callOf(exchange);
    if (!call) return [`${exchange.method} ${exchange.path || JSON.stringify(exchange.request)}: not documented`];
    const said = `${exchange.provider}, ${call.name}`;
    const ofRequest = call.request === null ? [] : this.errors(call.request, exchange.request);
    const expected = isFailure(exchange) ? (call.failure ?? call.answer) : call.answer;
    const ofAnswer = expected === null ? [] : this.errors(expected, exchange.answer);
    return [
      ...ofRequest.map((error) => `${said}, request: ${error}`),
      ...ofAnswer.map((error) => `${said}, answer: ${error}`),
    ];
  }

  /** The most literal path wins: `/payment/hold` is no payment with the id "hold". */
  private callOf({ by, method, path, request }: Exchange): DocumentedCall | undefined {
    const provider = this.file['x-provider'];
    const calls = this.file['x-calls'].filter((call) => call.by === by && call.method === method);
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
    return request === null || this.errors(request, said).length === 0;
  }

  private errors(name: string, value: unknown): string[] {
    const validate = this.ajv.getSchema(`${this.file['x-provider']}#/$defs/${name}`);
    if (!validate) throw new Error(`no definition ${name}`);
    if (validate(value) === true) return [];
    const errors = validate.errors ?? [];
    return errors.map(
      ({ instancePath, message, params }) => `${instancePath || '/'} ${message ?? ''} ${JSON.stringify(params)}`,
    );
  }
}

function callbackName(provider: ProviderCode, request: unknown): string {
  const fields = (request ?? {}) as Record<string, unknown>;
  if (provider === 'click') return fields['action'] === '1' ? 'complete' : 'prepare';
  return 'status' in fields ? 'webhook callback' : 'success callback';
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`);
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
