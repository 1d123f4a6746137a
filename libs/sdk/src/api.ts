import type { ListPath, Method, OperationOf, PageOf, ParametersOf, PathWith, ResultOf } from './api-types.js';
import { bytesOf, type Bytes } from './bytes.js';
import { UsageError } from './errors.js';
import { jsonBytes } from './exchange.js';
import { PagedList } from './pages.js';
import type { Call, CallOptions, Transport } from './transport.js';

export interface WriteOptions extends CallOptions {
  /** The same key and body have one effect, however often they are sent. Keep it: it must survive a restart. */
  idempotencyKey?: string | undefined;
}

interface AnyParameters {
  path?: object | undefined;
  query?: object | undefined;
  body?: unknown;
}

/** A body that is no JSON: a file to import. */
export interface RawBody {
  content: string | Uint8Array;
  contentType: string;
}

const KEY = /^[\x21-\x7e]{1,255}$/;
/** Writes that HTTP itself calls idempotent. */
const REPEATABLE = new Set(['GET', 'HEAD', 'PUT', 'DELETE']);
/** Where the gateway keeps keys; elsewhere it would ignore one, and a repeated write would be done twice. */
const KEYED = new Set(['/v1/receipts', '/v1/receipts/{id}/refunds', '/v1/payments']);
const ANY = { accept: '*/*' };

/** Calls operations of the description by method and path; what the resources are made of. */
export interface Api {
  /** The answer's JSON. A POST or PATCH without a key is not repeated when its answer is lost. */
  request: <M extends Method, P extends PathWith<M>>(
    method: M,
    path: P,
    parameters: ParametersOf<OperationOf<M, P>>,
    options?: WriteOptions,
  ) => Promise<ResultOf<OperationOf<M, P>>>;

  /** A POST as `request`, for what has the effect of once however often it is sent. */
  repeat: <P extends PathWith<'POST'>>(
    path: P,
    parameters: ParametersOf<OperationOf<'POST', P>>,
    options?: WriteOptions & { headers?: Record<string, string>; waitS?: number },
  ) => Promise<ResultOf<OperationOf<'POST', P>>>;

  list: <P extends ListPath>(
    path: P,
    parameters: Omit<ParametersOf<OperationOf<'GET', P>>, 'body'>,
    options?: CallOptions,
  ) => PagedList<PageOf<P>>;

  /** The answer itself, for files: its body is still to be read. */
  download: <P extends PathWith<'GET'>>(
    path: P,
    parameters: ParametersOf<OperationOf<'GET', P>>,
    options?: CallOptions,
  ) => Promise<Response>;

  upload: <P extends PathWith<'POST'>>(
    path: P,
    file: RawBody,
    query?: object,
    options?: CallOptions,
  ) => Promise<ResultOf<OperationOf<'POST', P>>>;

  /** What needs no token. @param path from the base address */
  open: (path: string, options?: CallOptions) => Promise<Response>;
}

/** What an answer holds is settled by the description alone. */
export function apiOf({ send }: Pick<Transport, 'send'>): Api {
  return {
    request: async (method, path, parameters, options) =>
      send(callOf(method, path, parameters, options)) as Promise<never>,

    repeat: async (path, parameters, options) => {
      const { headers, waitS } = options ?? {};
      const call = callOf('POST', path, parameters, options);
      return send({ ...call, headers: { ...call.headers, ...headers }, waitS, isRepeatable: true }) as Promise<never>;
    },

    list: (path, parameters, options) => {
      const { query, ...rest } = parameters as AnyParameters;
      const { cursor = null, ...filters } = (query ?? {}) as { cursor?: string | null };
      const fetchPage = async (at: string | null): Promise<never> =>
        send(callOf('GET', path, { ...rest, query: { ...filters, cursor: at } }, options)) as Promise<never>;
      return new PagedList(fetchPage, cursor);
    },

    download: async (path, parameters, options) => {
      const call = callOf('GET', path, parameters, options);
      return send({ ...call, read: 'response', headers: ANY }) as Promise<Response>;
    },

    upload: async (path, { content, contentType }, query = {}, options) => {
      const body = typeof content === 'string' ? bytesOf(content) : (Uint8Array.from(content) as Bytes);
      const call = callOf('POST', path, { query }, options);
      return send({ ...call, body, headers: { 'content-type': contentType } }) as Promise<never>;
    },

    open: async (path, options) => {
      const call = { method: 'GET', path, headers: ANY, isRepeatable: true, isPublic: true } as const;
      return send({ ...call, read: 'response', options }) as Promise<Response>;
    },
  };
}

function callOf(method: string, template: string, parameters: AnyParameters, options: WriteOptions = {}): Call {
  const { idempotencyKey = null } = options;
  if (idempotencyKey !== null && !KEY.test(idempotencyKey)) {
    throw new UsageError('An idempotency key is 1 to 255 visible ASCII characters.');
  }
  if (idempotencyKey !== null && !KEYED.has(template)) throw new UsageError(`${template} takes no idempotency key.`);
  const { path, query, body } = parameters;
  const hasBody = body !== undefined;
  return {
    method,
    path: filled(template, path ?? {}) + queryText(query ?? {}),
    ...(hasBody && { body: jsonBytes(body), headers: { 'content-type': 'application/json' } }),
    isRepeatable: REPEATABLE.has(method) || idempotencyKey !== null,
    idempotencyKey,
    read: 'json',
    options,
  };
}

function filled(template: string, names: object): string {
  const values = names as Readonly<Record<string, unknown>>;
  return template.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = values[name];
    // `.` and `..` would name another path.
    if (typeof value === 'string' && !/^\.{0,2}$/.test(value)) return encodeURIComponent(value);
    throw new UsageError(`${name} is missing in ${template}.`);
  });
}

function queryText(query: object): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return text && `?${text}`;
}
