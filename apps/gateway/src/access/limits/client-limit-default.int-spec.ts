// Promise: without any setting one client gone wild is turned away before it takes the gateway from all others.
import 'reflect-metadata';
import { testGatewaySettings } from '../../testing/gateway-settings.js';
import { gatewaysOfEachTest } from '../oauth/testing/oauth-gateway.js';
import { DEFAULT_CLIENT_LIMIT } from '../../http/rate.js';

const start = gatewaysOfEachTest();

test('the limit per client is on, and each answer names it', async () => {
  const { CLIENT_LIMIT } = testGatewaySettings({ url: 'postgresql://none@127.0.0.1/none' });
  expect(CLIENT_LIMIT).toBe(DEFAULT_CLIENT_LIMIT);
  const gateway = await start({ clientLimit: DEFAULT_CLIENT_LIMIT, queueUrl: 'redis://127.0.0.1:1' });
  const client = await gateway.createClient(await gateway.createMerchant());
  const { status, headers } = await gateway.mine(client.token);
  expect([status, headers['ratelimit-policy']]).toEqual([200, '"client";q=5000;w=5']);
});
