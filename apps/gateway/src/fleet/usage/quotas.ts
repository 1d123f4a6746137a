/** What a merchant may use; null: as much as it likes, within the limits of the installation. */
export interface Quotas {
  /** Sales that are accepted, by day of Tashkent. Refunds count, and are never refused. */
  receipts_per_day: number | null;
  devices: number | null;
  clients: number | null;
  /** Documents of receipts that are kept. */
  storage_bytes: number | null;
}

export type QuotaName = keyof Quotas;

/** Whatever is missing, or of another kind, is no quota. */
export function readQuotas(stored: unknown): Quotas {
  const json = (typeof stored === 'object' && stored !== null ? stored : {}) as Partial<Record<QuotaName, unknown>>;
  const limit = (name: QuotaName): number | null => {
    const value = json[name];
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
  };
  return {
    receipts_per_day: limit('receipts_per_day'),
    devices: limit('devices'),
    clients: limit('clients'),
    storage_bytes: limit('storage_bytes'),
  };
}
