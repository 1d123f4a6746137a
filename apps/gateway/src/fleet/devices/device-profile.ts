import { readProfile } from '#fiscal-domain';
import type { ProfileBody } from './device-bodies.js';

const COLUMNS = {
  send_timeout_ms: 'sendTimeoutMs',
  call_timeout_ms: 'callTimeoutMs',
  settle_ms: 'settleMs',
  pacing_ms: 'pacingMs',
  park_after_ms: 'parkAfterMs',
  failover_after_ms: 'failoverAfterMs',
  vat_rule: 'vatRule',
  sharing: 'sharing',
} as const satisfies Record<keyof ProfileBody, string>;

export type ProfileView = { [key in keyof typeof COLUMNS]: number | string | null };

/** What `devices.profile` becomes: only what differs from the defaults on purpose is kept. */
export function patchedProfile(stored: Readonly<Record<string, unknown>>, patch: ProfileBody): Record<string, unknown> {
  const profile = { ...stored };
  for (const [field, column] of Object.entries(COLUMNS)) {
    const value = patch[field as keyof ProfileBody];
    if (value === undefined) continue;
    if (value === null) delete profile[column];
    else profile[column] = value;
  }
  return profile;
}

/** What holds, defaults included. */
export function profileView(stored: unknown): ProfileView {
  const profile = readProfile(stored);
  const entries = Object.entries(COLUMNS).map(([field, column]) => [field, profile[column]]);
  return Object.fromEntries(entries) as ProfileView;
}
