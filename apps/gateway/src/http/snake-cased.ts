/** The same JSON with the keys of this API's style: `TotalSaleVAT` → `total_sale_vat`, `unsentZReports` → `unsent_z_reports`. */
export function snakeCased<T>(value: T): T {
  return cased(value) as T;
}

function cased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cased);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [snake(key), cased(member)]));
}

export function snake(key: string): string {
  return key
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();
}
