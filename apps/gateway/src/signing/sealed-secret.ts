/** Names the row and column that a sealed HMAC secret belongs to: it opens there only (`seal` and `open` of #runtime). */
export function signingSecretOwner(keyId: string): string {
  return `client_keys|${keyId}|secret_sealed`;
}
