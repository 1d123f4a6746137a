import { randomBytes } from 'node:crypto';

/** Fields as `multipart/form-data` (RFC 7578). A value cannot end its part: the boundary is drawn anew each time. */
export function multipart(fields: Readonly<Record<string, string>>): { headers: Record<string, string>; body: string } {
  const boundary = `----fields-${randomBytes(16).toString('hex')}`;
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return {
    headers: { accept: 'application/json', 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: `${parts.join('')}--${boundary}--\r\n`,
  };
}
