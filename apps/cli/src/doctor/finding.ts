/** What one check of `fgw doctor` came to. */
export interface Finding {
  check: 'profile' | 'network' | 'clock' | 'token' | 'access' | 'signature' | 'registers';
  state: 'ok' | 'warning' | 'fault' | 'skipped';
  found: string;
  /** What to do now; null when nothing is. */
  todo: string | null;
}

export function ok(check: Finding['check'], found: string): Finding {
  return { check, state: 'ok', found, todo: null };
}

export function skipped(check: Finding['check'], found: string): Finding {
  return { check, state: 'skipped', found, todo: null };
}

export function warning(check: Finding['check'], found: string, todo: string): Finding {
  return { check, state: 'warning', found, todo };
}

export function fault(check: Finding['check'], found: string, todo: string): Finding {
  return { check, state: 'fault', found, todo };
}
