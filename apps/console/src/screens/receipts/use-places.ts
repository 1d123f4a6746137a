import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api } from '../../api/api.js';
import { everyPage } from '../../api/every-page.js';
import { useLanguage } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import type { Option } from '../../ui/field.js';

export interface Places {
  /** By name, as the language orders them: `Till 2` before `Till 10`. */
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

/** Without the right to see them ids are shown. */
export function usePlaces(): Places {
  const { can } = useSession();
  const { language } = useLanguage();
  const options = { enabled: can('devices:read'), staleTime: 60_000 };
  const devices = useQuery({
    ...options,
    queryKey: ['devices', 'names'],
    queryFn: ({ signal }) => readNames((query) => api('get', '/v1/devices', { query, signal })),
  });
  const branches = useQuery({
    ...options,
    queryKey: ['branches', 'names'],
    queryFn: ({ signal }) => readNames((query) => api('get', '/v1/branches', { query, signal })),
  });
  const cashiers = useQuery({
    ...options,
    queryKey: ['cashiers', 'names'],
    queryFn: ({ signal }) => readNames((query) => api('get', '/v1/cashiers', { query, signal })),
  });
  return useMemo(() => {
    const { compare } = new Intl.Collator(language, { numeric: true });
    const all = [devices, branches, cashiers].map((one) => optionsOf(one, compare));
    const names = new Map(all.flat().map(({ value, label }) => [value, label]));
    return { devices: all[0] ?? [], branches: all[1] ?? [], cashiers: all[2] ?? [], names };
    // The data, not the queries' changing shells
  }, [devices.data, branches.data, cashiers.data, language]);
}

async function readNames(read: Parameters<typeof everyPage<Named>>[0]): Promise<Named[]> {
  return (await everyPage(read)).entries;
}

function optionsOf({ data }: UseQueryResult<Named[]>, compare: (one: string, other: string) => number): Option[] {
  return (data ?? [])
    .map(({ id, name }) => ({ value: id, label: name }))
    .toSorted((one, other) => compare(one.label, other.label));
}
