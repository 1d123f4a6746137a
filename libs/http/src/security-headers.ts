/**
 * What every answer states to a browser that was led to it: it is data, not a page, and must not be cached. Pages of ours (a
 * receipt, the documentation) replace the policy by their own. No CORS header is ever sent: no foreign page may read.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** Only where PUBLIC_URL is https: TLS ends at a proxy in front, which would have to say it otherwise. */
export const STRICT_TRANSPORT: Readonly<Record<string, string>> = {
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
};
