import type { components, paths } from './generated/api.js';

/** The types of docs/openapi.json, by name: `Schema<'DeviceView'>`. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What the description says about one method of one path; `never` when there is no such operation. */
export type OperationOf<M extends Method, P extends keyof paths> =
  paths[P] extends Record<Lowercase<M>, infer Operation> ? Operation : never;

/** All paths that have this method. */
export type PathWith<M extends Method> = {
  [P in keyof paths]: [OperationOf<M, P>] extends [never] ? never : [OperationOf<M, P>] extends [undefined] ? never : P;
}[keyof paths];

type JsonOf<Answer> = Answer extends { content: { 'application/json': infer Body } } ? Body : never;

type AnswersOf<Operation> = Operation extends { responses: infer Answers } ? Answers : never;

/** The JSON of the answers with 2xx; `undefined` for 204. */
export type ResultOf<Operation> = {
  [Status in keyof AnswersOf<Operation>]: Status extends 200 | 201 | 202
    ? JsonOf<AnswersOf<Operation>[Status]>
    : Status extends 204
      ? undefined
      : never;
}[keyof AnswersOf<Operation>];

/** The description gives numbers and booleans of a query as text with a pattern; a caller may give them as what they are. */
type Loosened<Query> = { [Key in keyof Query]: Query[Key] | number | boolean | undefined };

type QueryPart<Operation> = Operation extends { parameters: { query: infer Query extends object } }
  ? { query: Loosened<Query> }
  : Operation extends { parameters: { query?: infer Query } }
    ? [Exclude<Query, undefined>] extends [never]
      ? { query?: undefined }
      : { query?: Loosened<Exclude<Query, undefined>> | undefined }
    : { query?: undefined };

type PathPart<Operation> = Operation extends { parameters: { path: infer Names extends object } }
  ? { path: Names }
  : { path?: undefined };

type BodyPart<Operation> = Operation extends { requestBody: { content: { 'application/json': infer Body } } }
  ? { body: Body }
  : Operation extends { requestBody?: infer Request }
    ? Exclude<Request, undefined> extends { content: { 'application/json': infer Body } }
      ? { body?: Body | undefined }
      : { body?: undefined }
    : { body?: undefined };

/** Names in the path, the query and the body of one operation. */
export type ParametersOf<Operation> = PathPart<Operation> & QueryPart<Operation> & BodyPart<Operation>;

export interface AnyPage {
  data: unknown[];
  next_cursor: string | null;
}

/** All paths that answer a GET with `{data, next_cursor}`. */
export type ListPath = {
  [P in PathWith<'GET'>]: ResultOf<OperationOf<'GET', P>> extends AnyPage ? P : never;
}[PathWith<'GET'>];

export type PageOf<P extends ListPath> = Extract<ResultOf<OperationOf<'GET', P>>, AnyPage>;

export type ItemOf<P extends ListPath> = PageOf<P>['data'][number];

/** The filters of a list. `cursor` begins at a place that was kept. */
export type FiltersOf<P extends ListPath> = ParametersOf<OperationOf<'GET', P>>['query'];

/** The body of an operation. */
export type BodyOf<M extends Method, P extends PathWith<M>> = Exclude<
  ParametersOf<OperationOf<M, P>>['body'],
  undefined
>;
