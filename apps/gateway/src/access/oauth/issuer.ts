/** What this authorization server calls itself, and where its endpoints are seen from outside. */
export interface Issuer {
  /** PUBLIC_URL without a slash at its end (RFC 8414 §2). */
  issuer: string;
  tokenEndpoint: string;
  revocationEndpoint: string;
  introspectionEndpoint: string;
}

export function issuerOf(publicUrl: string): Issuer {
  const issuer = publicUrl.replace(/(?<!\/)\/+$/, '');
  return {
    issuer,
    tokenEndpoint: `${issuer}/oauth/token`,
    revocationEndpoint: `${issuer}/oauth/revoke`,
    introspectionEndpoint: `${issuer}/oauth/introspect`,
  };
}
