import { sha256 } from '#runtime';
import { isOpaqueSecret, newOpaqueSecret } from '../../oauth/base62.js';

const PREFIX = 'fgw_in_';

/** Stands in the link's fragment, which no server and no log gets. Only its hash is ever stored. */
export function newInvitationToken(): string {
  return newOpaqueSecret(PREFIX);
}

/** Null: it cannot be one of ours at all. */
export function hashInvitationToken(token: string): Buffer | null {
  return isOpaqueSecret(PREFIX, token) ? sha256(token) : null;
}
