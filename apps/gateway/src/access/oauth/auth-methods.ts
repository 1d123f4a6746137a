/** How a client may prove itself at the token endpoint, by the names of RFC 7591 §2 and OpenID Connect Core §9. */
export const AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;
export type AuthMethod = (typeof AUTH_METHODS)[number];

/** The client could prove itself by a registered key only. */
export function needsKey(methods: readonly string[]): boolean {
  return methods.every((method) => method === 'private_key_jwt');
}
