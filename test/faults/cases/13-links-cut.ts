import { join } from 'node:path';
import { freePorts } from '../../../libs/runtime/src/testing/free-ports.js';
import { sql } from '../../system/database.js';
import type { GatewayClient } from '../../system/gateway-client.js';
import type { Till } from '../../system/merchant.js';
import { startMoreRegisters } from '../../system/more-registers.js';
import { Program } from '../../system/program.js';
import type { TestSystem } from '../../system/system.js';
import { until } from '../../system/until.js';
import type { FaultCase } from '../frame/case.js';
import { Load, strikeAlong } from '../frame/load.js';
import { IMPATIENT } from '../frame/stage.js';
import { judge } from '../frame/truth.js';

const REGISTERS = 3;

export const linksCut: FaultCase = {
  number: '13',
  name: 'links of registers behind NAT cut, each time to land on another relay',
  stage: 'fleet',
  full: { receipts: 2_000, strikes: 100 },
  tenth: { receipts: 200, strikes: 10 },
  quick: { receipts: 100, strikes: 5 },
  maxSeconds: 600,
  async run({ stage: { system, linkProxy }, size, chance, prefix }) {
    if (!linkProxy) throw new Error('the stage has no way for links');
    const more = await startMoreRegisters(system, {
      ...{ count: REGISTERS, profile: IMPATIENT, scopes: ['receipts:write', 'receipts:read', 'devices:admin'] },
    });
    const { tills } = more.merchant;
    const agents: Program[] = [];
    try {
      for (const till of tills) agents.push(await startAgent(system, more.client, till));
      const load = new Load(more.client, { prefix, chance, total: size.receipts, waitS: 10 });
      const kills = await strikeAlong(load, { times: size.strikes, total: size.receipts, chance }, () => {
        linkProxy.target = { host: '127.0.0.1', port: Number(new URL(chance.pick(system.relayUrls)).port) };
        linkProxy.cut();
        return Promise.resolve();
      });
      await load.end();
      const verdict = await judge(system, [load], { prefix, tills, drainMs: 120_000 });
      return { ...verdict, kills, figures: [`${linkProxy.connections} links in all`] };
    } finally {
      await Promise.all(agents.map((agent) => agent.end()));
      await more.program.end();
    }
  },
};

/** From now on the register is not called at its address any more: its agent dials out. */
async function startAgent(
  system: TestSystem,
  client: GatewayClient,
  { deviceId, registerUrl }: Till,
): Promise<Program> {
  await sql(system.database, "UPDATE devices SET transport = 'link', base_url = NULL WHERE id = $1", [deviceId]);
  const { status, body } = await client.post(`/v1/devices/${deviceId}/enrolments`, {});
  if (status !== 201) throw new Error(`no enrolment: ${status} ${body.code}`);
  const { code, link_url: linkUrl } = body as unknown as { code: string; link_url: string };
  const port = await freePorts(1);
  const env = {
    ...{ LINK_URL: linkUrl, LINK_ENROLMENT_CODE: code, REGISTER_URL: registerUrl, AGENT_PORT: String(port) },
    DATA_DIR: join(system.folder, `agent-${deviceId}`),
  };
  const agent = new Program('agent', 'link-agent/src/main.js', env, `http://127.0.0.1:${port}/healthz`);
  await agent.start();
  await until('the link is there', () => isOk(`http://127.0.0.1:${port}/readyz`), Boolean);
  return agent;
}

async function isOk(url: string): Promise<boolean> {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.ok;
}
