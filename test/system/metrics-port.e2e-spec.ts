// Promise: each program that runs in a shop or simulates one serves its metrics on METRICS_PORT, and nothing else there.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '#runtime';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { Program } from './program.js';

const folder = mkdtempSync(join(tmpdir(), 'fiscal-metrics-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Each with the setting of its own port, and what it needs to start. */
const PROGRAMS: readonly [name: string, portSetting: string, more: Record<string, string>, series: string][] = [
  ['cash-register', 'REGISTER_PORT', { DATA_DIR: join(folder, 'register') }, 'register_unsent_documents'],
  [
    'link-agent',
    'AGENT_PORT',
    // No relay is there: the agent tries again and again, and says so in its metrics.
    {
      DATA_DIR: join(folder, 'agent'),
      LINK_URL: `ws://127.0.0.1:9/link?device=${newId('dev')}`,
      LINK_ENROLMENT_CODE: 'fge_none',
    },
    'link_agent_linked',
  ],
  ['ofd-simulator', 'OFD_PORT', {}, 'process_cpu_seconds_total'],
  ['payments-simulator', 'PAYMENTS_SIM_PORT', {}, 'process_cpu_seconds_total'],
];

test.each(PROGRAMS)('%s', async (name, portSetting, more, series) => {
  const port = await freePorts(2);
  const [own, metrics] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${port + 1}`];
  const env = { [portSetting]: String(port), METRICS_PORT: String(port + 1), ...more };
  const program = new Program(name, `${name}/src/main.js`, env, `${metrics}/metrics`);
  await program.start();
  try {
    const scraped = await fetch(`${metrics}/metrics`);
    expect(scraped.status).toBe(200);
    expect(await scraped.text()).toMatch(new RegExp(`^${series}\\{program="${name}"\\} `, 'm'));
    for (const path of ['/', '/healthz', '/readyz', '/metrics/', '/documents'])
      expect([path, (await fetch(`${metrics}${path}`)).status]).toEqual([path, 404]);
    expect((await fetch(`${own}/metrics`)).ok).toBe(false);
  } finally {
    await program.end();
  }
});
