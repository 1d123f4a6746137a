import type { components, paths } from '#sdk';
import { fillPath, sendForJson } from './call.js';

/** The types of docs/openapi.json, by name: what it no longer says fails the build. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
type OperationOf<M extends Method, P extends keyof paths> =
  paths[P] extends Record<M, infer Operation> ? Operation : never;
export type PathWith<M extends Method> = {
  [P in keyof paths]: [Exclude<OperationOf<M, P>, undefined>] extends [never] ? never : P;
}[keyof paths];

type JsonOf<Answer> = Answer extends { content: { 'application/json': infer Body } } ? Body : never;
type AnswersOf<Operation> = Operation extends { responses: infer Answers } ? Answers : never;
/** The JSON of the answers with 2xx. */
export type ResultOf<M extends Method, P extends keyof paths> = {
  [Status in keyof AnswersOf<OperationOf<M, P>>]: Status extends 200 | 201 | 202
    ? JsonOf<AnswersOf<OperationOf<M, P>>[Status]>
    : never;
}[keyof AnswersOf<OperationOf<M, P>>];

type QueryOf<Operation> = Operation extends { parameters: { query?: infer Query } }
  ? { [Key in keyof Exclude<Query, undefined>]?: string | number | boolean | undefined }
  : never;
type BodyOf<Operation> = Operation extends { requestBody: { content: { 'application/json': infer Body } } }
  ? Body
  : Operation extends { requestBody?: infer Request }
    ? Exclude<Request, undefined> extends { content: { 'application/json': infer Body } }
      ? Body
      : never
    : never;
type NamesOf<Operation> = Operation extends { parameters: { path: infer Names extends object } } ? Names : undefined;

export interface Given<M extends Method, P extends keyof paths> {
  path?: NamesOf<OperationOf<M, P>>;
  query?: QueryOf<OperationOf<M, P>>;
  body?: BodyOf<OperationOf<M, P>>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Calls an operation of the description by method and path. */
export function api<M extends Method, P extends PathWith<M>>(
  method: M,
  path: P,
  { path: names, query, body, headers, signal }: Given<M, P> = {},
): Promise<ResultOf<M, P>> {
  return sendForJson<ResultOf<M, P>>({
    method: method.toUpperCase(),
    path: fillPath(path, names as Record<string, string> | undefined),
    query,
    body,
    ...(headers && { headers }),
    signal,
  });
}

export type Receipt = Schema<'ReceiptView'>;
export type Device = Schema<'DeviceView'>;
export type UnknownCase = Schema<'UnknownView'>;
