import { startMoreRegisters } from '../../system/more-registers.js';
import type { Program } from '../../system/program.js';
import { startAgent } from '../frame/agents.js';
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
