import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** A new signing secret in the form of Standard Webhooks: `whsec_` and base64. */
export function newWebhookSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

export interface SignedMessage {
  /** The event's id: the same at every try, so that a receiver knows what it has already. */
  id: string;
  /** Of this try, seconds since 1970: a receiver refuses old ones. */
  timestampSeconds: number;
  body: string;
}

/**
 * Headers of Standard Webhooks 1.0.0: HMAC-SHA-256 over `id.timestamp.body`, one signature per secret, so that a receiver
 * that still has the previous one is content while secrets are changed.
 */
export function signatureHeaders(message: SignedMessage, secrets: readonly string[]): Record<string, string> {
  const { id, timestampSeconds, body } = message;
  const signed = `${id}.${timestampSeconds}.${body}`;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures.join(' '),
  };
}
