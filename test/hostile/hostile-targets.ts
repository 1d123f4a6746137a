import { SCOPES } from '../../apps/gateway/src/http/scopes.js';
import { startSystem } from '../system/system.js';
import { startBareServer } from './bare-server.js';
import type { HostileTargets } from './entries.js';

/** A gateway and a relay as processes of their own, with a merchant that may do everything, and a server of Node.js alone. */
export async function startTargets(): Promise<HostileTargets> {
  const system = await startSystem({ scopes: SCOPES, env: { TRUSTED_PROXIES: '127.0.0.1/32' } });
  try {
    const token = await system.client.fetchToken();
    const settings = { cashbox_id: 'cashbox', key: 'a-key' };
    const { body } = await system.client.post('/v1/provider-accounts', { provider: 'payme', name: 'Payme', settings });
    const bare = await startBareServer();
    const stop = async (): Promise<void> => {
      await bare.stop();
      await system.stop();
    };
    return { system, bare, token, accountPath: `/v1/providers/payme/${body.id ?? ''}`, stop };
  } catch (error) {
    await system.stop();
    throw error;
  }
}
