import { useQuery, type QueryKey, type UseQueryOptions, type UseQueryResult } from '@tanstack/react-query';
import { api, type Given, type PathWith, type ResultOf } from './api.js';

type Asked<P extends PathWith<'get'>> = Pick<Given<'get', P>, 'path' | 'query'>;
type Options<Result> = Omit<UseQueryOptions<Result>, 'queryKey' | 'queryFn'>;

/** Reads one answer of the API, and again as the options say. */
export function useGet<P extends PathWith<'get'>>(
  queryKey: QueryKey,
  path: P,
  { path: names, query, ...options }: Asked<P> & Options<ResultOf<'get', P>> = {},
): UseQueryResult<ResultOf<'get', P>> {
  const asked = { ...(names && { path: names }), ...(query && { query }) };
  return useQuery({ ...options, queryKey, queryFn: ({ signal }) => api('get', path, { ...asked, signal }) });
}
