// Promise: `fgw trigger` makes each event that it names, in a sandbox alone.
import { GatewayClient } from '../system/gateway-client.js';
import type { TestMerchant } from '../system/merchant.js';
import { startSystem, type TestSystem } from '../system/system.js';
import { Fgw } from './fgw.js';

const SCOPES = [
  ...['receipts:write', 'receipts:read', 'refunds:write', 'catalog:read'],
  ...['devices:admin', 'clients:admin'],
];

let system: TestSystem;
let sandbox: TestMerchant;
let client: GatewayClient;
let branch = '';
let fgw: Fgw;

beforeAll(async () => {
  system = await startSystem({ registers: 1, scopes: SCOPES, env: { HEALTH_POLL_MS: '300', OFD_RESEND_MS: '500' } });
  sandbox = await system.addMerchant({ mode: 'sandbox' });
  client = new GatewayClient(system.gatewayUrls, sandbox);
  branch = await made('/v1/branches', { code: 'shop', name: 'Shop', address: 'Toshkent' });
  const { clientId, clientSecret } = sandbox;
  fgw = new Fgw({ FGW_URL: system.gatewayUrls[0] ?? '', FGW_CLIENT_ID: clientId, FGW_CLIENT_SECRET: clientSecret });
});
afterAll(async () => {
  await fgw?.stop();
  await system?.stop();
});

async function made(path: string, body: unknown): Promise<string> {
  const answer = await client.post(path, body);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.id ?? '';
}

/** A cashier at a register of their own: some events leave a register away, doubtful or blocked. */
async function openTill(name: string): Promise<void> {
  const profile = { pacing_ms: 0, settle_ms: 1_000 };
  const device = await made('/v1/devices', { branch_id: branch, name, profile });
  await made('/v1/cashiers', { code: name, name, branch_id: branch, default_device_id: device });
}

/** As the help of the command names them. */
async function named(): Promise<string[]> {
  const { stdout } = await fgw.run(['trigger', '--help']);
  return [...new Set(stdout.match(/(?:receipt|refund|device)\.\w+/g))];
}

test('each event that the help names comes, of the sale that was made for it', async () => {
  const types = await named();
  expect(types.length).toBeGreaterThanOrEqual(10);
  for (const type of types) {
    await openTill(type);
    const { code, values, stderr } = await fgw.json<{ type: string; id: string }>(['trigger', type, '--cashier', type]);
    expect([type, code, stderr]).toEqual([type, 0, '']);
    expect(values).toEqual([expect.objectContaining({ type, id: expect.stringMatching(/^evt_/) })]);
  }
});

test('not with a live merchant, and not an event that there is not', async () => {
  const { clientId, clientSecret } = system.merchant;
  const env = { FGW_CLIENT_ID: clientId, FGW_CLIENT_SECRET: clientSecret };
  const live = await fgw.run(['trigger', 'receipt.registered'], { env });
  expect([live.code, live.stderr]).toEqual([2, expect.stringContaining('sandbox')]);
  const odd = await fgw.run(['trigger', 'receipt.eaten']);
  expect([odd.code, odd.stderr]).toEqual([2, expect.stringContaining('receipt.registered')]);
});
