export const BYS = ['day', 'device', 'branch', 'cashier', 'vat'] as const;
export type By = (typeof BYS)[number];

export interface ReportSearch {
  by?: By;
  from?: string;
  to?: string;
  show?: string;
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

export function reportSearch(given: Record<string, unknown>): ReportSearch {
  const by = BYS.find((one) => one === given['by']);
  const day = (name: 'from' | 'to'): ReportSearch => {
    const value = given[name];
    return typeof value === 'string' && DAY.test(value) ? { [name]: value } : {};
  };
  return {
    ...(by !== undefined && { by }),
    ...day('from'),
    ...day('to'),
    ...(given['show'] === 'different' && { show: 'different' }),
  };
}
