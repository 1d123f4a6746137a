import { join } from 'node:path';
import { freePorts } from '../../../libs/runtime/src/testing/free-ports.js';
import { sql } from '../../system/database.js';
import type { GatewayClient } from '../../system/gateway-client.js';
import type { Till } from '../../system/merchant.js';
import { Program } from '../../system/program.js';
import type { TestSystem } from '../../system/system.js';
import { until } from '../../../libs/runtime/src/testing/until.js';

/** From now on the register is not called at its address any more: its agent dials out. */
export async function startAgent(
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
