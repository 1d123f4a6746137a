// Promise: a receiver accepts only what the gateway signed within five minutes with one of its secrets.
import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { UsageError } from './errors.js';
import { verifyWebhook, type HeadersLike } from './webhook-signature.js';

const NOW = new Date('2026-01-01T00:00:00Z');
const now = (): number => NOW.getTime();
const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;
const event = {
  id: 'evt_1',
  type: 'receipt.registered',
  timestamp: NOW.toISOString(),
  merchant_id: 'mer_1',
  data: { receipt_id: 'rcp_1', good: 'Нон 🍞' },
};
const raw = JSON.stringify(event);

/** Signed by the reference implementation of Standard Webhooks. */
function headersOf(secret: string, body = raw, at = NOW): Record<string, string> {
  return {
    'webhook-id': event.id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(event.id, at, body),
  };
}

test('the event, when it is signed', async () => {
  const secret = newSecret();
  await expect(verifyWebhook(raw, headersOf(secret), secret, { now })).resolves.toEqual(event);
  await expect(verifyWebhook(Buffer.from(raw), new Headers(headersOf(secret)), [secret], { now })).resolves.toEqual(
    event,
  );
});

test('one of several secrets, and one of several signatures, is enough', async () => {
  const [old, fresh] = [newSecret(), newSecret()];
  const headers = headersOf(fresh);
  const both = {
    ...headers,
    'webhook-signature': `${headersOf(old)['webhook-signature']} ${headers['webhook-signature']}`,
  };
  await expect(verifyWebhook(raw, headers, [old, fresh], { now })).resolves.toEqual(event);
  await expect(verifyWebhook(raw, both, fresh, { now })).resolves.toEqual(event);
  await expect(verifyWebhook(raw, both, old, { now })).resolves.toEqual(event);
});

const secret = newSecret();
const good = headersOf(secret);
const later = (seconds: number): Date => new Date(NOW.getTime() + seconds * 1000);
const REFUSED: [string, string, HeadersLike, string][] = [
  ['another body', raw.replace('rcp_1', 'rcp_2'), good, 'no_match'],
  ['JSON that was written anew', JSON.stringify(event, null, 1), good, 'no_match'],
  ['another secret', raw, headersOf(newSecret()), 'no_match'],
  ['another id', raw, { ...good, 'webhook-id': 'evt_2' }, 'no_match'],
  [
    'a signature of another version',
    raw,
    { ...good, 'webhook-signature': good['webhook-signature']!.replace('v1,', 'v2,') },
    'no_match',
  ],
  ['a signature that is no base64', raw, { ...good, 'webhook-signature': 'v1,%%%' }, 'no_match'],
  ['an empty signature', raw, { ...good, 'webhook-signature': 'v1,' }, 'no_match'],
  ['no signature', raw, { ...good, 'webhook-signature': undefined }, 'header_missing'],
  ['no id', raw, new Headers({ 'webhook-timestamp': '1' }), 'header_missing'],
  ['a time that is none', raw, { ...good, 'webhook-timestamp': '1e3' }, 'timestamp_invalid'],
  ['yesterday', raw, headersOf(secret, raw, later(-301)), 'too_old'],
  ['tomorrow', raw, headersOf(secret, raw, later(301)), 'too_new'],
  ['a body that is no JSON', 'x', headersOf(secret, 'x'), 'body_invalid'],
];

test.each(REFUSED)('%s is refused', async (_name, body, headers, reason) => {
  await expect(verifyWebhook(body, headers, secret, { now })).rejects.toMatchObject({ reason });
});

test.each([
  ['no secret', []],
  ['one without its prefix', ['abc']],
  ['one that is no base64', ['whsec_%']],
])('a receiver with %s gets a usage error, whatever arrives', async (_name, secrets) => {
  await expect(verifyWebhook(raw, good, secrets, { now })).rejects.toThrow(UsageError);
});
