/** What of a request a signature can speak of, as it came over the wire. */
export interface SignedRequest {
  method: string;
  /** Path and query of the request line, byte for byte. */
  target: string;
  /** Each header field by its lower-case name: all its values in order, joined (RFC 9421 §2.1); Node took the spaces around them. */
  fields: ReadonlyMap<string, string>;
}

/** @param rawHeaders names and values in turn, as received: Node folds repeated headers away elsewhere */
export function signedRequest(method: string, target: string, rawHeaders: readonly string[]): SignedRequest {
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    const value = rawHeaders[at + 1] ?? '';
    const before = fields.get(name);
    fields.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return { method, target, fields };
}

/** The derived components (RFC 9421 §2.2) that this gateway knows. Those that name the scheme break at TLS proxies. */
const DERIVED: Readonly<Record<string, (request: SignedRequest) => string | null>> = {
  '@method': ({ method }) => method,
  '@authority': authorityOf,
  '@path': ({ target }) => target.split('?', 1)[0] ?? '',
  '@query': ({ target }) => (target.includes('?') ? target.slice(target.indexOf('?')) : '?'),
};

const FIELD_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;

/** Whether a signature may cover it at all: a derived component of ours, or a header field in lower case. */
export function isComponentName(name: string): boolean {
  return Object.hasOwn(DERIVED, name) || FIELD_NAME.test(name);
}

/** A component's value for the signature base (RFC 9421 §2.1, §2.2); null when the request does not have it. */
export function componentValue(request: SignedRequest, name: string): string | null {
  const derive = DERIVED[name];
  return derive ? derive(request) : (request.fields.get(name) ?? null);
}

/** The host as both sides write it: lower case, without a default port. */
export function normalizeAuthority(host: string): string {
  return host.toLowerCase().replace(/:(?:80|443)$/, '');
}

/** From the Host header alone: X-Forwarded-Host is whatever the caller likes. Several of them are none. */
function authorityOf({ fields }: SignedRequest): string | null {
  const host = fields.get('host');
  return host === undefined || host.includes(',') ? null : normalizeAuthority(host);
}

/** RFC 9421 §2.5. Latin-1, as Node reads header bytes. */
export function signatureBase(
  request: SignedRequest,
  components: readonly string[],
  signatureParams: string,
): { kind: 'base'; bytes: Buffer } | { kind: 'absent'; component: string } {
  const lines: string[] = [];
  for (const component of components) {
    const value = componentValue(request, component);
    if (value === null) return { kind: 'absent', component };
    lines.push(`"${component}": ${value}`);
  }
  lines.push(`"@signature-params": ${signatureParams}`);
  return { kind: 'base', bytes: Buffer.from(lines.join('\n'), 'latin1') };
}
