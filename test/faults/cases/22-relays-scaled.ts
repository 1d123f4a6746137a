import { freePorts } from '../../../libs/runtime/src/testing/free-ports.js';
import { startMoreRegisters } from '../../system/more-registers.js';
import { metric } from '../../system/metric.js';
import { Program } from '../../system/program.js';
import type { TestSystem } from '../../system/system.js';
import { until } from '../../../libs/runtime/src/testing/until.js';
import { startAgent } from '../frame/agents.js';
import type { FaultCase } from '../frame/case.js';
import { Load } from '../frame/load.js';
import { IMPATIENT } from '../frame/stage.js';
import { judge } from '../frame/truth.js';

const REGISTERS = 3;

export const relaysScaled: FaultCase = {
  number: '22',
  name: 'relays added and taken away, links of registers behind NAT among what they hold',
  stage: 'fleet',
  full: { receipts: 2_000, strikes: 20 },
  tenth: { receipts: 200, strikes: 2 },
  quick: { receipts: 60, strikes: 1 },
  maxSeconds: 900,
  async run({ stage: { system, linkProxy }, size, chance, prefix }) {
    if (!linkProxy) throw new Error('the stage has no way for links');
    const more = await startMoreRegisters(system, {
      ...{ count: REGISTERS, profile: IMPATIENT, scopes: ['receipts:write', 'receipts:read', 'devices:admin'] },
    });
    const { tills } = more.merchant;
    const started: Program[] = [];
    const failures: string[] = [];
    try {
      for (const till of tills) started.push(await startAgent(system, more.client, till));
      const load = new Load(more.client, { prefix, chance, waitS: 10 });
      const atEach = Math.ceil(size.receipts / (2 * size.strikes));
      for (let round = 0; round < size.strikes; round += 1) {
        // Out: a relay more, and the balancer sends links to it. The others keep nothing but the way there.
        const added = await addRelay(system, round);
        started.push(added.program);
        linkProxy.target = { host: '127.0.0.1', port: added.port };
        linkProxy.cut();
        await until(
          'the added relay holds the links',
          () => metric(added.url, 'link_sessions'),
          (links) => links === REGISTERS,
        );
        await load.reaches(load.sold.length + atEach);
        // In: it goes while it holds them all.
        linkProxy.target = { host: '127.0.0.1', port: Number(new URL(chance.pick(system.relayUrls)).port) };
        await added.program.end('SIGTERM');
        if (added.program.exitCode !== 0) failures.push(`${added.program.name} ended with ${added.program.exitCode}`);
        await load.reaches(load.sold.length + atEach);
      }
      const sold = await load.end();
      const verdict = await judge(system, [load], { prefix, tills, drainMs: 120_000 });
      // A busy database may refuse a try for reasons of its own; what has to do with relays and links may not.
      const refused = sold.flatMap(({ setbacks }) => setbacks).filter((setback) => !/^503 database_/.test(setback));
      if (refused.length > 0) failures.push(`refused calls: ${[...new Set(refused)].join(', ')}`);
      return {
        ...verdict,
        failures: [...verdict.failures, ...failures],
        kills: size.strikes,
        figures: [`${linkProxy.connections} links in all`],
      };
    } finally {
      await Promise.all(started.map((program) => program.end()));
      await more.program.end();
    }
  },
};

async function addRelay(system: TestSystem, round: number): Promise<{ program: Program; port: number; url: string }> {
  const port = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const env = { ...system.programEnv, RELAY_URL: url, RELAY_PORT: String(port) };
  const program = new Program(`relay-added-${round}`, 'device-relay/src/main.js', env, `${url}/readyz`);
  await program.start();
  return { program, port, url };
}
