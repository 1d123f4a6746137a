import type { VatRule } from './vat.js';

/** How a register is treated; `devices.profile` holds the fields that differ from the defaults. */
export interface DeviceProfile {
  /** Deadline of POST /receipts: longer than a register needs while it tries dead OFD servers. */
  sendTimeoutMs: number;
  /** Deadline of every other call. */
  callTimeoutMs: number;
  /** Longer than the register's worst processing time (docs/architecture.md). */
  settleMs: number;
  /** Least time between two documents; a hardware module needs 1 s. */
  pacingMs: number;
  /** An attempt that cannot be resolved becomes `unknown` after this. */
  parkAfterMs: number;
  /** Accepted receipts move to another register when this one has been away for so long; null = they wait here. */
  failoverAfterMs: number | null;
  /** Base of the wire's `vat` (facts: E-016). */
  vatRule: VatRule;
  /** Whether only the gateway sells on it; `shared` unless set otherwise. */
  sharing: 'exclusive' | 'shared';
}

export const DEFAULT_PROFILE: DeviceProfile = {
  sendTimeoutMs: 60_000,
  callTimeoutMs: 10_000,
  settleMs: 120_000,
  pacingMs: 1_000,
  parkAfterMs: 6 * 3_600_000,
  failoverAfterMs: null,
  vatRule: 'unit',
  sharing: 'shared',
};

/** Fields of the wrong type are left at their default: a typo in one profile must not stop a lane. */
export function readProfile(stored: unknown): DeviceProfile {
  if (typeof stored !== 'object' || stored === null) return DEFAULT_PROFILE;
  const given = new Map<string, unknown>(Object.entries(stored));
  const durationOrNull = (key: string): number | null => {
    const value = given.get(key);
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
  };
  const duration = (key: 'sendTimeoutMs' | 'callTimeoutMs' | 'settleMs' | 'pacingMs' | 'parkAfterMs'): number =>
    durationOrNull(key) ?? DEFAULT_PROFILE[key];
  const vatRule = given.get('vatRule');
  return {
    sendTimeoutMs: duration('sendTimeoutMs'),
    callTimeoutMs: duration('callTimeoutMs'),
    settleMs: duration('settleMs'),
    pacingMs: duration('pacingMs'),
    parkAfterMs: duration('parkAfterMs'),
    failoverAfterMs: durationOrNull('failoverAfterMs'),
    vatRule: vatRule === 'line' || vatRule === 'line-net' ? vatRule : DEFAULT_PROFILE.vatRule,
    sharing: given.get('sharing') === 'exclusive' ? 'exclusive' : 'shared',
  };
}
