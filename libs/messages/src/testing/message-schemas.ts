import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { MessageProviderCode } from '../port.js';

/** Providers that are called over HTTP; of SMTP the RFCs are the document, and real servers the proof. */
export const HTTP_PROVIDERS = ['eskiz', 'playmobile', 'telegram'] as const satisfies readonly MessageProviderCode[];
export type HttpProvider = (typeof HTTP_PROVIDERS)[number];

/** One call of `x-calls` of a provider's schema file. */
export interface DocumentedCall {
  name: string;
  by: 'us' | 'provider';
  method: string;
  path: string;
  request: string | null;
  answer: string | null;
  failure?: string;
  'x-source': string;
}

export interface MessageSchemaFile {
  'x-provider': HttpProvider;
  'x-sources': Record<string, { page: string; address: string }>;
  'x-open': { point: string; handling: string }[];
  'x-calls': DocumentedCall[];
  $defs: Record<string, Record<string, unknown>>;
}

/** A call as it went over the wire, in either direction. */
export interface MessageExchange {
  provider: HttpProvider;
  by: 'us' | 'provider';
  method: string;
  path: string;
  request: unknown;
  status: number;
  answer: unknown;
}

export function messageSchemaFile(provider: HttpProvider): MessageSchemaFile {
  return JSON.parse(readFileSync(`libs/messages/schemas/${provider}.json`, 'utf8')) as MessageSchemaFile;
}

const VALIDATORS = new Map<HttpProvider, Ajv2020>();

function validatorOf(provider: HttpProvider): Ajv2020 {
  const known = VALIDATORS.get(provider);
  if (known) return known;
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema(messageSchemaFile(provider), provider);
  VALIDATORS.set(provider, ajv);
  return ajv;
}

/** What of an exchange the provider's published documents do not have; empty: nothing. */
export function violationsOf(exchange: MessageExchange): string[] {
  const { provider, by, method, path, request, status, answer } = exchange;
  const calls = messageSchemaFile(provider)['x-calls'].filter((call) => call.by === by && call.method === method);
  const call = by === 'provider' ? calls[0] : calls.find((each) => patternOf(each.path).test(path));
  if (!call) return [`${method} ${path}: not documented`];
  const isFailure = status >= 300;
  const expected = isFailure ? (call.failure ?? null) : call.answer;
  return [
    ...(call.request === null ? [] : errorsOf(provider, call.request, request)).map((error) => `request: ${error}`),
    ...(expected === null ? [] : errorsOf(provider, expected, answer)).map((error) => `answer: ${error}`),
  ];
}

export function errorsOf(provider: HttpProvider, name: string, value: unknown): string[] {
  const validate = validatorOf(provider).getSchema(`${provider}#/$defs/${name}`);
  if (!validate) throw new Error(`no definition ${name}`);
  if (validate(value) === true) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || '/'} ${message ?? ''}`);
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`);
}
