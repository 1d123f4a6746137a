import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { freePorts } from '../../../runtime/src/testing/free-ports.js';
import { untilTrue } from '../../../runtime/src/testing/until.js';

const SLOTS = 16_384;
const MASTER = 'fgw';
const PASSWORD = 'correct.horse-battery~staple';
const STARTED_WITHIN_MS = 60_000;
/**
 * A sentinel that was not run for two seconds (the machine was busy, its disk slow) acts on nothing for 30 (its TILT), and each further pause
 * begins that anew: longer than a test may take. Here it takes far longer pauses for none.
 */
const LATE_BY_MS = 60_000;
const FOLLOWS_WITHIN_MS = 120_000;

/** Whether sentinels can be tested on this machine (Debian's redis-sentinel, the same program as redis-server). */
export function sentinelIsInstalled(): boolean {
  return spawnSync('redis-sentinel', ['--version']).status === 0;
}

/** One process of a group. */
class Member {
  private process: ChildProcess | null = null;

  constructor(
    readonly port: number,
    private readonly program: string,
    private readonly args: readonly string[],
    private readonly client: RedisOptions,
  ) {}

  async start(): Promise<void> {
    this.process = spawn(this.program, [...this.args], { stdio: 'ignore' });
    const client = new Redis({
      ...this.client,
      ...{ host: '127.0.0.1', port: this.port, maxRetriesPerRequest: null, retryStrategy: () => 50 },
    });
    client.on('error', () => undefined); // not listening yet
    await client.ping();
    client.disconnect();
  }

  async kill(): Promise<void> {
    const running = this.process;
    this.process = null;
    if (running?.exitCode !== null || running.signalCode !== null) return;
    const ended = once(running, 'exit');
    running.kill('SIGKILL');
    await ended;
  }

  async command<T>(run: (client: Redis) => Promise<T>): Promise<T> {
    const client = new Redis({ ...this.client, host: '127.0.0.1', port: this.port });
    try {
      return await run(client);
    } finally {
      client.disconnect();
    }
  }
}

/** Three masters that share the slots, without replicas. */
export class OwnCluster {
  private constructor(
    private readonly folder: string,
    readonly members: readonly Member[],
  ) {}

  static async reserve(): Promise<OwnCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'redis-cluster-'));
    const first = await freePorts(6);
    const members = [0, 1, 2].map((index) => {
      const port = first + index;
      return new Member(
        port,
        'redis-server',
        [
          ...['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder],
          ...['--cluster-enabled', 'yes', '--cluster-port', String(first + 3 + index)],
          ...['--cluster-config-file', `nodes-${index}.conf`, '--cluster-node-timeout', '3000'],
        ],
        {},
      );
    });
    return new OwnCluster(folder, members);
  }

  get url(): string {
    return `redis+cluster://${this.members.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
  }

  async start(): Promise<void> {
    await Promise.all(this.members.map((member) => member.start()));
    await this.assign();
    for (const member of this.members) {
      const isWhole = (): Promise<boolean> =>
        member.command(async (client) => (await client.cluster('INFO')).includes('cluster_state:ok'));
      await untilTrue(isWhole, 'the cluster is whole', STARTED_WITHIN_MS);
    }
  }

  async kill(): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()));
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async command<T>(run: (client: Cluster) => Promise<T>): Promise<T> {
    const client = new Cluster(this.members.map(({ port }) => ({ host: '127.0.0.1', port })));
    try {
      return await run(client);
    } finally {
      client.disconnect();
    }
  }

  /** Once: who has which slots stands in their files afterwards. */
  private async assign(): Promise<void> {
    const [first] = this.members;
    if (!first || !(await first.command((client) => client.cluster('INFO'))).includes('cluster_slots_assigned:0'))
      return;
    for (const [index, member] of this.members.entries()) {
      const [from, to] = [index, index + 1].map((part) => Math.floor((part * SLOTS) / this.members.length));
      await member.command((client) => client.call('CLUSTER', 'ADDSLOTSRANGE', from ?? 0, (to ?? 0) - 1));
    }
    for (const { port } of this.members.slice(1)) {
      const busPort = port + 3;
      await first.command((client) => client.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort));
    }
  }
}

/** A master with a replica, watched by three sentinels; all of them speak TLS alone and want a password. */
export class OwnSentinels {
  private constructor(
    private readonly folder: string,
    private readonly servers: readonly Member[],
    private readonly sentinels: readonly Member[],
  ) {}

  static async reserve(): Promise<OwnSentinels> {
    const folder = mkdtempSync(join(tmpdir(), 'redis-sentinels-'));
    makeCertificate(folder);
    const port = await freePorts(5);
    const tls = ['--port', '0', '--tls-replication', 'yes', '--tls-auth-clients', 'no', ...certificateArgs(folder)];
    const quiet = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder];
    const account = ['--requirepass', PASSWORD, '--masterauth', PASSWORD];
    const client: RedisOptions = { password: PASSWORD, tls: { rejectUnauthorized: false } };
    const servers = [port, port + 1].map((own) => {
      const isReplica = own !== port ? ['--replicaof', `127.0.0.1 ${port}`] : [];
      return new Member(
        own,
        'redis-server',
        ['--tls-port', String(own), ...tls, ...quiet, ...account, ...isReplica],
        client,
      );
    });
    const sentinels = [2, 3, 4].map((index) => {
      const file = join(folder, `sentinel-${index}.conf`);
      writeFileSync(file, sentinelConfig(folder, port, port + index));
      return new Member(port + index, 'redis-sentinel', [file], client);
    });
    return new OwnSentinels(folder, servers, sentinels);
  }

  get url(): string {
    const hosts = this.sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
    return `rediss+sentinel://:${encodeURIComponent(PASSWORD)}@${hosts}/${MASTER}`;
  }

  /** What a program needs to trust them. */
  get certificateFile(): string {
    return join(this.folder, 'cert.pem');
  }

  async start(): Promise<void> {
    for (const member of [...this.servers, ...this.sentinels]) await member.start();
    for (const sentinel of this.sentinels) {
      await sentinel.command((client) => client.call('SENTINEL', 'DEBUG', 'tilt-trigger', LATE_BY_MS));
      const knowsAll = (): Promise<boolean> =>
        sentinel.command(async (client) => {
          const [replicas, others] = await Promise.all([
            client.call('SENTINEL', 'REPLICAS', MASTER),
            client.call('SENTINEL', 'SENTINELS', MASTER),
          ]);
          return (replicas as unknown[]).length === 1 && (others as unknown[]).length === 2;
        });
      await untilTrue(knowsAll, 'the sentinels know each other', STARTED_WITHIN_MS);
    }
  }

  async masterPort(): Promise<number> {
    const answers = await Promise.allSettled(
      this.sentinels.map((sentinel) =>
        sentinel.command((client) => client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER)),
      ),
    );
    const address = answers.find((answer) => answer.status === 'fulfilled')?.value as [string, string] | undefined;
    return Number(address?.[1]);
  }

  /** The master dies; once another server is it, the first one comes back, and one follows the other. */
  async failOver(): Promise<void> {
    const port = await this.masterPort();
    const master = this.servers.find((server) => server.port === port);
    await master?.kill();
    await this.logged(async () => {
      await untilTrue(async () => (await this.masterPort()) !== port, 'another master was chosen', FOLLOWS_WITHIN_MS);
      await master?.start();
      await untilTrue(() => this.isWhole(), 'one is the master and the other follows', FOLLOWS_WITHIN_MS);
    });
  }

  /** Whichever is the master: on a busy machine the new one may be taken for down at once, and the first one be chosen again. */
  private async isWhole(): Promise<boolean> {
    const master = await this.masterPort();
    const isInItsRole = async (server: Member): Promise<boolean> => {
      const said = await server.command((client) => client.info('replication'));
      if (server.port === master) return said.includes('role:master');
      return said.includes(`master_port:${master}`) && said.includes('master_link_status:up');
    };
    return (await Promise.all(this.servers.map(isInItsRole))).every(Boolean);
  }

  /** A wait in vain is reported with what the sentinels did meanwhile. */
  private async logged(run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      const logs = this.sentinels.map(({ port }) =>
        readFileSync(join(this.folder, `${port}.log`), 'utf8').slice(-3000),
      );
      throw new Error(`${String(error)}\n${logs.join('\n')}`, { cause: error });
    }
  }

  async remove(): Promise<void> {
    await Promise.all([...this.sentinels, ...this.servers].map((member) => member.kill()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function certificateArgs(folder: string): string[] {
  const file = (name: string): string => join(folder, name);
  return [
    '--tls-cert-file',
    file('cert.pem'),
    '--tls-key-file',
    file('key.pem'),
    '--tls-ca-cert-file',
    file('cert.pem'),
  ];
}

function sentinelConfig(folder: string, masterPort: number, port: number): string {
  const certificate = certificateArgs(folder).map((word) => word.replace(/^--/, ''));
  const pairs = [0, 2, 4].map((at) => `${certificate[at]} ${certificate[at + 1]}`);
  return `${[
    ...[
      'port 0',
      `tls-port ${port}`,
      `logfile ${join(folder, `${port}.log`)}`,
      'bind 127.0.0.1',
      `dir ${folder}`,
      'tls-replication yes',
      'tls-auth-clients no',
    ],
    ...pairs,
    ...[`requirepass ${PASSWORD}`, `sentinel sentinel-pass ${PASSWORD}`],
    ...[`sentinel monitor ${MASTER} 127.0.0.1 ${masterPort} 2`, `sentinel auth-pass ${MASTER} ${PASSWORD}`],
    ...[`sentinel down-after-milliseconds ${MASTER} 1000`, `sentinel failover-timeout ${MASTER} 5000`],
  ].join('\n')}\n`;
}

function makeCertificate(folder: string): void {
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', '/CN=redis', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')];
  const made = spawnSync('openssl', ['req', '-x509', ...kind, ...names, ...files], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`openssl: ${made.stderr}`);
}
