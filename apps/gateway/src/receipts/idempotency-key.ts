import { Problem } from '#problems';
import type { AuthenticatedClient } from '../http/current-client.js';

/**
 * The Idempotency-Key header: 1–255 printable ASCII characters. Optional unless the client was set up to
 * require it: the specification's bare body works without.
 * @throws Problem `invalid_header` (400) on an unusable key, `idempotency_key_missing` (422)
 */
export function readIdempotencyKey(header: string | undefined, client: AuthenticatedClient): string | null {
  if (header === undefined) {
    if (!client.requireIdempotencyKey) return null;
    throw new Problem('idempotency_key_missing', 'This client must send an Idempotency-Key header.');
  }
  if (!/^[\x20-\x7e]{1,255}$/.test(header)) {
    throw new Problem('invalid_header', 'Idempotency-Key must be 1 to 255 printable ASCII characters.');
  }
  return header;
}
