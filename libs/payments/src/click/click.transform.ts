import { tashkentDateTime } from '#fiscal-domain';
import type { CallOutcome, MoneyStatus } from '../port.js';

/** `payment_status`: below 0 failed or given back, 0 and 1 at work, 2 paid. */
export function clickPaymentStatus(status: number | null): MoneyStatus {
  if (status === null) return 'in_flight';
  if (status === 2) return 'captured';
  return status < 0 ? 'declined' : 'in_flight';
}

/** What an HTTP status says; null: the body tells. */
export function clickFailure(status: number): Exclude<CallOutcome, { kind: 'status' }> | null {
  if (status === 200) return null;
  const detail = `HTTP ${String(status)}`;
  if ([400, 401, 403, 404, 406, 410].includes(status)) return { kind: 'refused', code: String(status), detail };
  return { kind: 'unknown', detail };
}

/** YYYY-MM-DD in Tashkent. */
export function toTashkentDate(atMs: number): string {
  return tashkentDateTime(atMs).slice(0, 10);
}
