import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';

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

export interface ProviderFile<Provider extends string> {
  'x-provider': Provider;
  'x-sources': Record<string, { page: string; address: string }>;
  'x-open': { point: string; handling: string }[];
  /**
   * HTTP statuses with which calls of the provider may be answered, whatever the body says, and which of `x-sources` says so: where it is
   * "not documented", they are what we have chosen.
   */
  'x-statuses'?: Record<'answer' | 'failure', { statuses: number[]; source: string }>;
  'x-calls': DocumentedCall[];
  $defs: Record<string, Record<string, unknown>>;
}

/** A call as it went over the wire, in either direction. */
export interface ProviderExchange<Provider extends string> {
  provider: Provider;
  by: 'us' | 'provider';
  method: string;
  path: string;
  request: unknown;
  status: number;
  answer: unknown;
}

export function readProviderFile<Provider extends string>(path: string): ProviderFile<Provider> {
  return JSON.parse(readFileSync(path, 'utf8')) as ProviderFile<Provider>;
}

/** The documented calls of one provider, to hold what is sent and answered against. */
export class ProviderDocument<Provider extends string> {
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });

  constructor(readonly file: ProviderFile<Provider>) {
    this.ajv.addSchema(file, file['x-provider']);
  }

  callsOf({ by, method }: Pick<DocumentedCall, 'by' | 'method'>): DocumentedCall[] {
    return this.file['x-calls'].filter((call) => call.by === by && call.method === method);
  }

  /** What of an exchange its call does not have; empty: nothing. */
  violations(call: DocumentedCall, exchange: ProviderExchange<Provider>, isFailure: boolean): string[] {
    const { request, answer, failure = answer } = call;
    const expected = isFailure ? failure : answer;
    const said = `${exchange.provider}, ${call.name}`;
    return [
      ...this.requestErrors(request, exchange.request).map((error) => `${said}, request: ${error}`),
      ...this.statusErrors(exchange, isFailure).map((error) => `${said}, answer: ${error}`),
      ...(expected === null ? [] : this.errors(expected, exchange.answer)).map((error) => `${said}, answer: ${error}`),
    ];
  }

  private statusErrors({ by, status }: ProviderExchange<Provider>, isFailure: boolean): string[] {
    const known = by === 'provider' ? this.file['x-statuses']?.[isFailure ? 'failure' : 'answer'].statuses : undefined;
    return known === undefined || known.includes(status) ? [] : [`status ${String(status)}`];
  }

  /** A call without a documented body has none. */
  private requestErrors(name: string | null, request: unknown): string[] {
    if (name !== null) return this.errors(name, request);
    return request === null || request === undefined || request === ''
      ? []
      : [`has a body: ${JSON.stringify(request)}`];
  }

  /** @param name of a definition */
  errors(name: string, value: unknown): string[] {
    const validate = this.ajv.getSchema(`${this.file['x-provider']}#/$defs/${name}`);
    if (!validate) throw new Error(`no definition ${name}`);
    if (validate(value) === true) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath || '/'} ${message ?? ''} ${JSON.stringify(params)}`,
    );
  }
}

export function notDocumented({ method, path, request }: ProviderExchange<string>): string {
  return `${method} ${path || JSON.stringify(request)}: not documented`;
}

export function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`);
}
