// Promise: receivers verify our webhooks with the reference package or ten lines of their own, also while secrets change.
import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { newWebhookSecret, signatureHeaders } from './sign-webhook.js';

const body = JSON.stringify({ id: 'evt_1', type: 'receipt.registered', data: { name: 'Нон “issiq” 🍞' } });
const now = (): number => Math.floor(Date.now() / 1_000);

test('the reference package verifies, and refuses another body, id, time and secret', () => {
  const secret = newWebhookSecret();
  const timestampSeconds = now();
  const headers = signatureHeaders({ id: 'evt_1', timestampSeconds, body }, [secret]);
  expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
  expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow();
  expect(() => new Webhook(secret).verify(body, { ...headers, 'webhook-id': 'evt_2' })).toThrow();
  const earlier = { ...headers, 'webhook-timestamp': String(timestampSeconds - 1) };
  expect(() => new Webhook(secret).verify(body, earlier)).toThrow();
  expect(() => new Webhook(newWebhookSecret()).verify(body, headers)).toThrow();
});

test('a plain HMAC over id, time and body', () => {
  const secret = newWebhookSecret();
  const headers = signatureHeaders({ id: 'evt_1', timestampSeconds: 1_767_225_600, body }, [secret]);
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const expected = createHmac('sha256', key).update(`evt_1.1767225600.${body}`).digest('base64');
  expect(headers).toEqual({
    'webhook-id': 'evt_1',
    'webhook-timestamp': '1767225600',
    'webhook-signature': `v1,${expected}`,
  });
});

test('two signatures while secrets change: both receivers are content', () => {
  const [present, before] = [newWebhookSecret(), newWebhookSecret()];
  const headers = signatureHeaders({ id: 'evt_1', timestampSeconds: now(), body }, [present, before]);
  for (const secret of [present, before]) expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
});

test('secrets are 256 random bits', () => {
  const secrets = Array.from({ length: 100 }, newWebhookSecret);
  expect(new Set(secrets).size).toBe(100);
  for (const secret of secrets) expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
});
