import { setTimeout as delay } from 'node:timers/promises';
import type { Chance } from '../../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import { freePorts } from '../../../libs/runtime/src/testing/free-ports.js';
import { GatewayClient } from '../../system/gateway-client.js';
import { inParallel } from '../../system/in-parallel.js';
import type { TestMerchant, Till } from '../../system/merchant.js';
import { startRegisters, type RegisterProcess } from '../../system/more-registers.js';
import { Program } from '../../system/program.js';
import type { TestSystem } from '../../system/system.js';
import { TcpProxy } from '../../system/tcp-proxy.js';
import { Load, type Sold } from './load.js';
import { IMPATIENT } from './stage.js';
import { WebhookBooks } from './webhook-books.js';

/** Of 100 registers so many stay healthy when the others fail together. */
const HEALTHY_PERCENT = 5;
const REGISTERS_PER_PROCESS = 1_000;
/** Processes of registers that start at the same time. */
const STARTING_AT_ONCE = 3;
/** A till's software gives up a request and repeats it with the same key. */
const CLIENT_PATIENCE_MS = 12_000;
const WAIT_S = 8;

export interface NationSize {
  merchants: number;
  devices: number;
  /** Sales a second of the whole nation, at rest. */
  salesPerSecond: number;
}

interface NationMerchant {
  client: GatewayClient;
  healthy: Till[];
  others: Till[];
}

/**
 * Many merchants with registers in few processes: the healthy 5 % in one, all others in processes that a test may stop.
 * A third gateway stands on a host of its own, whose way to the database goes over a line that can fall silent.
 */
export class Nation {
  readonly merchants: NationMerchant[] = [];
  readonly farLine: TcpProxy;
  /** The gateways that the load balancer sends to; tills share this list. */
  readonly balancer: string[];
  private readonly parts: (() => Promise<unknown>)[] = [];
  private healthyProcess: RegisterProcess | null = null;
  private readonly otherProcesses: RegisterProcess[] = [];
  private readonly loads: { healthy: Load[]; others: Load[] } = { healthy: [], others: [] };

  private constructor(
    readonly system: TestSystem,
    readonly size: NationSize,
    readonly books: WebhookBooks,
    readonly far: { gateway: Program; url: string; line: TcpProxy },
  ) {
    this.balancer = [...system.gatewayUrls, far.url];
    this.farLine = far.line;
    this.parts.push(() => books.close());
    this.parts.push(() => far.line.close());
    this.parts.push(() => far.gateway.end('SIGKILL'));
  }

  static async build(system: TestSystem, size: NationSize): Promise<Nation> {
    const nation = new Nation(system, size, await WebhookBooks.open(), await farGateway(system));
    try {
      await nation.far.gateway.start();
      await nation.settleDown();
      return nation;
    } catch (error) {
      await nation.end();
      throw error;
    }
  }

  get tills(): Till[] {
    return this.merchants.flatMap(({ healthy, others }) => [...healthy, ...others]);
  }

  get allLoads(): Load[] {
    return [...this.loads.healthy, ...this.loads.others];
  }

  /** Every cashier sells from now on, at a pace at which the whole nation makes `salesPerSecond`: half of it the healthy 5 %. */
  openShops(prefix: string, chance: Chance): void {
    const paceOf = (tills: number): number => (tills * 2_000) / this.size.salesPerSecond;
    const healthyMs = paceOf(this.merchants.reduce((sum, { healthy }) => sum + healthy.length, 0));
    const othersMs = paceOf(this.merchants.reduce((sum, { others }) => sum + others.length, 0));
    for (const [index, { client, healthy, others }] of this.merchants.entries()) {
      const options = { chance, perTill: 1 };
      const pace = (ms: number) => ({ breathMs: ms, startWithinMs: ms });
      this.loads.healthy.push(
        new Load(client, {
          ...options,
          ...pace(healthyMs),
          prefix: `${prefix}-${index}h`,
          tills: healthy,
          asyncShare: 0,
          waitS: WAIT_S,
        }),
      );
      this.loads.others.push(
        new Load(client, {
          ...options,
          ...pace(othersMs),
          prefix: `${prefix}-${index}o`,
          tills: others,
          asyncShare: 0.8,
        }),
      );
    }
  }

  /** Sales that were answered in this span (`performance.now()`). */
  soldBetween(fromMs: number, toMs: number, whose: 'healthy' | 'others' | 'all' = 'all'): Sold[] {
    const loads = whose === 'all' ? this.allLoads : this.loads[whose];
    return loads.flatMap(({ sold }) => sold.filter(({ answeredMs }) => answeredMs >= fromMs && answeredMs < toMs));
  }

  /** Of these the sales whose last try began in the span too. */
  triedBetween(fromMs: number, toMs: number, whose: 'healthy' | 'others' | 'all' = 'all'): Sold[] {
    return this.soldBetween(fromMs, toMs, whose).filter(({ answeredMs, tookMs }) => answeredMs - tookMs >= fromMs);
  }

  async closeShops(): Promise<void> {
    for (const load of this.allLoads) load.stop();
    await Promise.all(this.allLoads.map((load) => load.end()));
  }

  /** One register of each process: what is set there for all reaches every register. */
  get firstRegisters(): string[] {
    return [this.healthyProcess, ...this.otherProcesses].flatMap((process) => process?.urls[0] ?? []);
  }

  /** The processes of the 95 % stand still: their registers take connections and answer nothing. */
  silenceOthers(): void {
    for (const { program } of this.otherProcesses) program.signal('SIGSTOP');
  }

  wakeOthers(): void {
    for (const { program } of this.otherProcesses) program.signal('SIGCONT');
  }

  /**
   * Nothing leaves the far gateway's host any more: neither answers nor anything on its connections to the database, which stay
   * open. The load balancer notices after a while.
   */
  async loseFarHost(noticedAfterMs: number): Promise<void> {
    this.far.line.deafen();
    this.far.gateway.signal('SIGSTOP');
    await delay(noticedAfterMs);
    this.balancer.splice(this.balancer.indexOf(this.far.url), 1);
  }

  async end(): Promise<void> {
    for (const part of this.parts.reverse()) await part();
  }

  private async settleDown(): Promise<void> {
    const { devices, merchants } = this.size;
    const healthyCount = Math.ceil((devices * HEALTHY_PERCENT) / 100);
    const healthy = await startRegisters(this.system, { count: healthyCount });
    this.healthyProcess = healthy;
    this.parts.push(() => healthy.program.end());
    this.parts.push(async () => {
      this.wakeOthers();
      await Promise.all(this.otherProcesses.map(({ program }) => program.end()));
    });
    await this.startOthers(devices - healthyCount);
    const otherUrls = this.otherProcesses.flatMap(({ urls }) => urls);
    const numbers = Array.from({ length: merchants }, (_, number) => number);
    const shareOf = (urls: readonly string[], number: number): string[] =>
      urls.filter((_, index) => index % merchants === number);
    await inParallel(numbers, 4, async (number) => {
      const own = shareOf(healthy.urls, number);
      const merchant = await this.system.addMerchant({
        registerUrls: [...own, ...shareOf(otherUrls, number)],
        profile: IMPATIENT,
        scopes: ['receipts:write', 'receipts:read', 'webhooks:admin'],
      });
      this.merchants.push(await this.open(merchant, own.length));
    });
  }

  private async open(merchant: TestMerchant, healthy: number): Promise<NationMerchant> {
    // Nothing is judged yet: with a till's patience a slow machine would end the case here.
    await this.books.subscribe(new GatewayClient(this.balancer, merchant));
    const client = new GatewayClient(this.balancer, merchant, CLIENT_PATIENCE_MS);
    return { client, healthy: merchant.tills.slice(0, healthy), others: merchant.tills.slice(healthy) };
  }

  /** Each process has a loopback address of its own: one address has not ports enough for a nation. */
  private async startOthers(count: number): Promise<void> {
    const processes = Math.ceil(count / REGISTERS_PER_PROCESS);
    const port = await freePorts(Math.min(count, REGISTERS_PER_PROCESS));
    await inParallel(Array.from({ length: processes }), STARTING_AT_ONCE, async (_, index) => {
      const own = Math.min(count - index * REGISTERS_PER_PROCESS, REGISTERS_PER_PROCESS);
      const host = `127.0.0.${index + 1}`;
      this.otherProcesses.push(await startRegisters(this.system, { count: own, host, port }));
    });
  }
}

async function farGateway(system: TestSystem): Promise<Nation['far']> {
  const databaseUrl = new URL(system.programEnv['DATABASE_URL'] ?? '');
  const [linePort, gatewayPort] = [await freePorts(1), await freePorts(1)];
  const line = new TcpProxy(linePort, Number(databaseUrl.port));
  await line.listen();
  databaseUrl.port = String(linePort);
  databaseUrl.searchParams.delete('connect_timeout');
  const url = `http://127.0.0.1:${gatewayPort}`;
  const env = { ...system.programEnv, DATABASE_URL: databaseUrl.href, GATEWAY_PORT: String(gatewayPort) };
  return { gateway: new Program('far gateway', 'gateway/src/main.js', env, `${url}/readyz`), url, line };
}
