import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePorts } from '../../../libs/runtime/src/testing/free-ports.js';
import { startMoreRegisters } from '../../system/more-registers.js';
import type { FaultCase } from '../frame/case.js';
import { Load, percentile } from '../frame/load.js';
import { IMPATIENT } from '../frame/stage.js';
import { judge } from '../frame/truth.js';

const ALLOWED_GROWTH = 0.2;
const REGISTERS = 20;

export const blackHole: FaultCase = {
  number: '9',
  name: 'one of 20 registers swallows everything',
  stage: 'fleet',
  full: { receipts: 6_000, strikes: 3 },
  tenth: { receipts: 600, strikes: 1 },
  quick: { receipts: 150, strikes: 1 },
  maxSeconds: 600,
  async run({ stage: { system }, size, chance, prefix, judgesTimes }) {
    const hole = new BlackHole();
    const more = await startMoreRegisters(system, {
      count: REGISTERS,
      profile: IMPATIENT,
      seenAs: async (urls) => [...urls.slice(0, -1), await hole.before(urls.at(-1) ?? '')],
    });
    try {
      const { tills } = more.merchant;
      const others = tills.slice(0, -1);
      const swallowed = tills.slice(-1);
      const loads: Load[] = [];
      /** Quiet and broken rounds take turns, so that whatever else the machine does falls on both alike. */
      const tookMs: Record<'quiet' | 'broken', number[]> = { quiet: [], broken: [] };
      const rounds = size.strikes * 2;
      // A first round warms everything up and is not counted.
      for (let round = -1; round < rounds; round += 1) {
        const isBroken = round >= 0 && round % 2 === 1;
        hole.swallows = isBroken;
        const total = Math.floor(size.receipts / rounds);
        const load = new Load(more.client, {
          ...{ prefix: `${prefix}-${round + 1}`, chance, total, tills: others, perTill: 1, asyncShare: 0 },
        });
        const dead = new Load(more.client, {
          ...{ prefix: `${prefix}-d${round + 1}`, chance, total: 10, tills: swallowed, perTill: 1, asyncShare: 1 },
        });
        const sold = await load.end();
        await dead.end();
        hole.swallows = false;
        if (round >= 0) tookMs[isBroken ? 'broken' : 'quiet'].push(...sold.map((one) => one.tookMs));
        loads.push(load, dead);
      }
      const verdict = await judge(system, loads, { prefix, tills, drainMs: 90_000 });
      const [quietMs, brokenMs] = [percentile(tookMs.quiet, 0.95), percentile(tookMs.broken, 0.95)];
      const growth = brokenMs / quietMs - 1;
      if (judgesTimes && growth >= ALLOWED_GROWTH) {
        verdict.failures.push(`p95 of the others grew by ${(growth * 100).toFixed(0)} %`);
      }
      const figures = [`p95 of the other ${REGISTERS - 1}: ${quietMs.toFixed(0)} → ${brokenMs.toFixed(0)} ms`];
      return { ...verdict, kills: size.strikes, figures };
    } finally {
      await more.program.end();
      hole.close();
    }
  },
};

/** Stands before a register; while it swallows, it takes connections and bytes and answers nothing. */
class BlackHole {
  private isSwallowing = false;
  private server: Server | null = null;
  private readonly sockets = new Set<Socket>();

  /** @returns the address under which the gateway is to know the register */
  async before(url: string): Promise<string> {
    const port = await freePorts(1);
    const target = Number(new URL(url).port);
    const server = createServer((near) => this.join(near, target));
    this.server = server;
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return `http://127.0.0.1:${port}`;
  }

  /** Connections from before stay as they were, so that also a kept one goes deaf. */
  set swallows(isSwallowing: boolean) {
    this.isSwallowing = isSwallowing;
  }

  close(): void {
    this.server?.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private join(near: Socket, port: number): void {
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(from);
      from.on('data', (bytes) => {
        if (!this.isSwallowing) to.write(bytes);
      });
      from.on('error', () => from.destroy()); // the other side is ended by 'close'
      from.once('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
    }
  }
}
