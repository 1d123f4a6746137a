/** `bad`: sales fail or will soon. `warn`: a promise is weaker than it could be. */
export type FindingState = 'ok' | 'warn' | 'bad';

/** What was examined, what was found, and what is to be done about it. */
export interface Finding {
  check: string;
  state: FindingState;
  found: string;
  /** Null when nothing is to be done. */
  do: string | null;
}

export function well(check: string, found: string): Finding {
  return { check, state: 'ok', found, do: null };
}

/** @param bounds from which on the value is warned of, and bad */
export function judged(
  { check, found, advice }: { check: string; found: string; advice: string },
  value: number,
  bounds: { warn: number; bad: number },
): Finding {
  const state = value >= bounds.bad ? 'bad' : value >= bounds.warn ? 'warn' : 'ok';
  return { check, state, found, do: state === 'ok' ? null : advice };
}

/** A check that failed is a finding, and stops no other. */
export async function findingsOf(check: string, run: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await run();
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    return [{ check, state: 'bad', found, do: 'It could not be examined: mend this first, then ask again.' }];
  }
}
