import { isIP } from 'node:net';

export interface LinkTarget {
  /** Where to dial. */
  url: string;
  deviceId: string;
}

/**
 * Reads LINK_URL as the gateway gave it out: `wss://…?device=dev_…`. Without TLS only to this machine, unless it is set
 * that the way there is protected by other means.
 * @throws Error whose message completes "LINK_URL must be …"
 */
export function readLinkUrl(raw: string, { allowInsecure = false } = {}): LinkTarget {
  const url = URL.canParse(raw) ? new URL(raw) : null;
  const deviceId = url?.searchParams.get('device') ?? '';
  if (!url || !['wss:', 'ws:'].includes(url.protocol) || !/^dev_[0-9a-z]{26}$/.test(deviceId)) {
    throw new Error('the link_url of an enrolment: wss://…?device=dev_…');
  }
  if (url.protocol === 'ws:' && !allowInsecure && !isLoopback(url.hostname)) {
    throw new Error('wss://; ws:// only to this machine, or with LINK_ALLOW_INSECURE=true');
  }
  return { url: url.href, deviceId };
}

function isLoopback(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
}
