import { SCOPES } from '../../apps/gateway/src/http/scopes.js';
import { startSystem } from '../system/system.js';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  TestIdentityProvider,
} from '../../apps/gateway/src/access/people/testing/identity-provider.js';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { LOGIN_ORIGIN, type HostileTargets } from './entries.js';

/** A gateway and a relay as processes of their own, with a merchant that may do everything. */
export async function startTargets(): Promise<HostileTargets> {
  // Logins, and tokens of an identity provider, are read to their end.
  const provider = await TestIdentityProvider.start(await freePorts(1), `${LOGIN_ORIGIN}/auth/oidc/callback`, {
    logoutUri: `${LOGIN_ORIGIN}/console/login`,
    backChannel: `${LOGIN_ORIGIN}/auth/oidc/backchannel-logout`,
  });
  const people = { CONSOLE_URL: `${LOGIN_ORIGIN}/console`, OIDC_ISSUER: provider.issuer };
  const client = { OIDC_CLIENT_ID: CLIENT_ID, OIDC_CLIENT_SECRET: CLIENT_SECRET };
  const system = await startSystem({
    ...{ scopes: SCOPES, env: { TRUSTED_PROXIES: '127.0.0.1/32', ...people, ...client } },
  }).catch(async (error: unknown) => {
    await provider.stop();
    throw error;
  });
  const stopSystem = system.stop.bind(system);
  system.stop = async () => {
    await stopSystem();
    await provider.stop();
  };
  try {
    const token = await system.client.fetchToken();
    const settings = { cashbox_id: 'cashbox', key: 'a-key' };
    const { body } = await system.client.post('/v1/provider-accounts', { provider: 'payme', name: 'Payme', settings });
    return { system, token, accountPath: `/v1/providers/payme/${body.id ?? ''}` };
  } catch (error) {
    await system.stop();
    throw error;
  }
}
