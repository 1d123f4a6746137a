import type { Api } from '../api.js';
import type { AnyPage, ListPath, Method, OperationOf, PageOf, ParametersOf, PathWith, ResultOf } from '../api-types.js';
import type { PagedList } from '../pages.js';
import type { CallOptions } from '../transport.js';
import { RESOURCES } from './tables.js';

/** What the first word of a line calls. `READ`, `LIST` and `FILE` take filters, `POST`, `PUT` and `PATCH` a body. */
interface Kinds {
  GET: 'GET';
  /** What it reads depends on its filters. */
  READ: 'GET';
  /** All entries, over all pages. */
  LIST: 'GET';
  /** The answer itself, its body still to be read. */
  FILE: 'GET';
  POST: 'POST';
  /** A POST that takes no body. */
  DO: 'POST';
  PUT: 'PUT';
  PATCH: 'PATCH';
  DELETE: 'DELETE';
}

type Kind = keyof Kinds;

/** The names in a path, in their order. */
type Names<P extends string> = P extends `${string}{${string}}${infer Rest}`
  ? Rest extends `${string}{${string}}${string}`
    ? [id: string, innerId: string]
    : [id: string]
  : [];

type Filters<Given> = Given extends { query: infer Query extends object }
  ? [filters: Query]
  : Given extends { query?: infer Query }
    ? [filters?: Query]
    : [];

type Body<Given> = Given extends { body: infer Value extends object }
  ? object extends Value
    ? [body?: Value]
    : [body: Value]
  : Given extends { body?: infer Value }
    ? [body?: Value]
    : [];

type Input<K extends Kind, Given> = K extends 'GET' | 'DO' | 'DELETE'
  ? []
  : K extends 'POST' | 'PUT' | 'PATCH'
    ? Body<Given>
    : Filters<Given>;

type Result<K extends Kind, P extends PathWith<Kinds[K]>> = K extends 'LIST'
  ? P extends ListPath
    ? PagedList<PageOf<P>>
    : never
  : Promise<K extends 'FILE' ? Response : ResultOf<OperationOf<Kinds[K], P>>>;

type Call<K extends Kind, P> =
  P extends PathWith<Kinds[K]>
    ? (
        ...given: [...Names<P & string>, ...Input<K, ParametersOf<OperationOf<Kinds[K], P>>>, options?: CallOptions]
      ) => Result<K, P>
    : never;

type Kebab<Name extends string> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `-${Lowercase<Letter>}`}${Kebab<Rest>}`
  : '';

/** What the text of a line stands for: `LIST`, `GET {id}` or `PUT /message-templates`. */
type MethodOf<Base extends string, Line> = Line extends Kind
  ? Call<Line, `/v1/${Base}`>
  : Line extends `${infer K extends Kind} /${infer P}`
    ? Call<K, `/v1/${P}`>
    : Line extends `${infer K extends Kind} ${infer P}`
      ? Call<K, `/v1/${Base}/${P}`>
      : never;

type Tables = typeof RESOURCES;

/** A method for each line, with the types of the description. */
export type Resource<Name extends keyof Tables> = {
  readonly [Method in keyof Tables[Name]]: MethodOf<Kebab<Name>, Tables[Name][Method]>;
};

interface AnyApi {
  request(method: Method, path: string, parameters: object, options: unknown): unknown;
  list(path: string, parameters: object, options: unknown): PagedList<AnyPage>;
  download(path: string, parameters: object, options: unknown): unknown;
}

/** All of them, by name. */
export function resourcesOf(api: Api): { readonly [Name in keyof Tables]: Resource<Name> } {
  const names = Object.keys(RESOURCES) as (keyof Tables)[];
  return Object.fromEntries(names.map((name) => [name, resourceOf(api, name)])) as ReturnType<typeof resourcesOf>;
}

/** Makes the methods of a table. What they take and give is settled by the types alone. */
export function resourceOf<Name extends keyof Tables>(api: Api, name: Name): Resource<Name> {
  const methods = Object.entries<string>(RESOURCES[name]).map(([method, line]) => {
    const [kind, path] = operationOf(name, line);
    return [method, (...given: unknown[]) => call(api, kind, path, given)];
  });
  return Object.fromEntries(methods) as Resource<Name>;
}

export function operationOf(name: string, line: string): [kind: string, path: string] {
  const [kind = '', rest] = line.split(' ');
  const base = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const path = rest ? (rest[0] === '/' ? rest : `/${base}/${rest}`) : `/${base}`;
  return [kind, `/v1${path}`];
}

function call(api: AnyApi, kind: string, path: string, given: unknown[]): unknown {
  const names = path.match(/(?<=\{)\w+/g) ?? [];
  const parameters: Record<string, unknown> = { path: Object.fromEntries(names.map((name) => [name, given.shift()])) };
  if (/^(READ|LIST|FILE)$/.test(kind)) parameters['query'] = given.shift();
  if (/^P/.test(kind)) parameters['body'] = given.shift() ?? {};
  const [options] = given;
  if (kind === 'LIST') return api.list(path, parameters, options);
  if (kind === 'FILE') return api.download(path, parameters, options);
  const method = kind === 'READ' ? 'GET' : kind === 'DO' ? 'POST' : kind;
  return api.request(method as Method, path, parameters, options);
}
