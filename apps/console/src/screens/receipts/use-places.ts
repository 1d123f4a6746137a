import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api } from '../../api/api.js';
import { useSession } from '../../session/session-context.js';
import type { Option } from '../../ui/field.js';

export interface Places {
  devices: Option[];
  branches: Option[];
  cashiers: Option[];
  /** What an id is called. */
  names: ReadonlyMap<string, string>;
}

interface Named {
  id: string;
  name: string;
}

/** The first hundred of each: enough to choose from. Without the right to see them ids are shown. */
export function usePlaces(): Places {
  const { can } = useSession();
  const enabled = can('devices:read');
  const options = { enabled, staleTime: 60_000 };
  const query = { limit: 100 };
  const devices = useQuery({
    ...options,
    queryKey: ['devices', 'names'],
    queryFn: () => api('get', '/v1/devices', { query }),
  });
  const branches = useQuery({
    ...options,
    queryKey: ['branches', 'names'],
    queryFn: () => api('get', '/v1/branches', { query }),
  });
  const cashiers = useQuery({
    ...options,
    queryKey: ['cashiers', 'names'],
    queryFn: () => api('get', '/v1/cashiers', { query }),
  });
  return useMemo(() => {
    const all = [devices, branches, cashiers].map((one) => optionsOf(one));
    const names = new Map(all.flat().map(({ value, label }) => [value, label]));
    return { devices: all[0] ?? [], branches: all[1] ?? [], cashiers: all[2] ?? [], names };
    // The data, not the queries' changing shells
  }, [devices.data, branches.data, cashiers.data]);
}

function optionsOf({ data }: UseQueryResult<{ data: Named[] }>): Option[] {
  return (data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }));
}
