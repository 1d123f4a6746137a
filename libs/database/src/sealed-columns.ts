/**
 * Names the row and column that a device's sealed API key belongs to: it opens there only (`seal` and `open` of #runtime).
 * Sealing and opening must use the same value, so it is defined here.
 */
export function apiKeyOwner(deviceId: string): string {
  return `devices|${deviceId}|api_key_sealed`;
}

/** As {@link apiKeyOwner}, for the secret of a client's HMAC key. */
export function signingSecretOwner(keyId: string): string {
  return `client_keys|${keyId}|secret_sealed`;
}

/** As {@link apiKeyOwner}, for the secret of a user's time-based codes. */
export function totpOwner(userId: string): string {
  return `users|${userId}|totp_sealed`;
}

/** As {@link apiKeyOwner}, for the ID token that a session began with. */
export function idTokenOwner(sessionId: string): string {
  return `user_sessions|${sessionId}|id_token_sealed`;
}

/** As {@link apiKeyOwner}, for `secret_sealed` and `previous_sealed` of webhook_secrets: a secret moves from one to the other. */
export function webhookSecretOwner(ownerId: string): string {
  return `webhook_secrets|${ownerId}|secret_sealed`;
}
