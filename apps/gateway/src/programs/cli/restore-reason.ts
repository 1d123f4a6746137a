import { REASON_LENGTH } from '../../operator/operator-bodies.js';
import type { Given } from './read-arguments.js';
import { UsageError } from './usage-error.js';

/** @throws UsageError */
export function reasonOf({ reason = '' }: Given): string {
  const { min, max } = REASON_LENGTH;
  const text = reason.trim();
  if (text.length < min || text.length > max) throw new UsageError(`--reason must have ${min} to ${max} characters`);
  return text;
}
