import type { Api } from '../api.js';
import type { AnyPage, ListPath, Method, OperationOf, PageOf, ParametersOf, PathWith, ResultOf } from '../api-types.js';
import type { PagedList } from '../pages.js';
import type { CallOptions } from '../transport.js';
import { RESOURCES } from './tables.js';

/** What the first word of a line calls. `LIST` and `FILE` take filters, `POST`, `PUT` and `PATCH` a body. */
interface Kinds {
  GET: 'GET';
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

/** An operation in one line, its path below /v1: `LIST devices`. */
export type Line = `${Kind} ${string}`;

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

type MethodOf<One> = One extends `${infer K extends Kind} ${infer P}` ? Call<K, `/v1/${P}`> : never;

/** A method for each line, with the types of the description. */
export type Resource<Table> = { readonly [Name in keyof Table]: MethodOf<Table[Name]> };

interface AnyApi {
  request(method: Method, path: string, parameters: object, options: unknown): unknown;
  list(path: string, parameters: object, options: unknown): PagedList<AnyPage>;
  download(path: string, parameters: object, options: unknown): unknown;
}

/** What needs no code of its own, by name. */
export function resourcesOf(api: Api): object {
  return Object.fromEntries(Object.entries(RESOURCES).map(([name, table]) => [name, resourceOf(api, table)]));
}

/** Makes the methods of a table. What they take and give is settled by the types alone. */
export function resourceOf<Table extends Readonly<Record<string, Line>>>(api: Api, table: Table): Resource<Table> {
  const methods = Object.entries(table).map(([name, line]) => [name, (...given: unknown[]) => call(api, line, given)]);
  return Object.fromEntries(methods) as Resource<Table>;
}

function call(api: AnyApi, line: string, given: unknown[]): unknown {
  const [kind, rest] = line.split(' ');
  const path = `/v1/${rest}`;
  const names = path.match(/(?<=\{)\w+/g) ?? [];
  const place = { path: Object.fromEntries(names.map((name) => [name, given.shift()])) };
  const query = kind === 'LIST' || kind === 'FILE' ? given.shift() : undefined;
  if (kind === 'LIST') return api.list(path, { ...place, query }, given[0]);
  if (kind === 'FILE') return api.download(path, { ...place, query }, given[0]);
  if (kind === 'DO') return api.request('POST', path, place, given[0]);
  const body = kind === 'GET' || kind === 'DELETE' ? undefined : (given.shift() ?? {});
  return api.request(kind as Method, path, { ...place, body }, given[0]);
}
