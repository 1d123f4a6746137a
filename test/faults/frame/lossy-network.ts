import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Carries connections of the far side to the socket file, which lies in no network, as long as its input is open. */
const FORWARDER = `
const net = require('node:net');
process.stdin.on('end', () => process.exit()).resume();
net.createServer((near) => {
  const far = net.connect(process.argv[1]);
  for (const [from, to] of [[near, far], [far, near]]) {
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
    from.pipe(to);
  }
}).listen(5432, '0.0.0.0', () => console.log('ready'));`;

/** Keeps a network namespace as long as its input is open. */
const KEEPER = "process.stdin.on('end', () => process.exit()).resume(); console.log('ready');";

/**
 * A way to a server over three network namespaces, on which packets of chosen connections are lost for good: by the kernel, on
 * a router in the middle, so that neither side notices. Only root on Linux may make one. The namespaces have no names: they
 * are those of two processes that end with this one, however it ends, and the kernel takes addresses and routes with them.
 */
export class LossyNetwork {
  private readonly addresses: { near: string; router: string; gate: string; far: string };
  private readonly folder = mkdtempSync(join(tmpdir(), 'fiscal-lossy-'));
  private readonly lost = new Set<number>();
  private readonly processes: ChildProcess[] = [];
  private server: Server | null = null;
  private readonly link = `fr${process.pid}`;
  private routerPid = 0;

  private constructor(private readonly targetPort: number) {
    // Of the range that is set aside for tests of networks (RFC 2544).
    const net = process.pid % 250;
    this.addresses = {
      near: `198.18.${net}.1`,
      router: `198.18.${net}.2`,
      gate: `198.19.${net}.1`,
      far: `198.19.${net}.2`,
    };
  }

  /** @returns null where this machine does not let us */
  static async open(targetPort: number): Promise<LossyNetwork | null> {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return null;
    const network = new LossyNetwork(targetPort);
    try {
      await network.build();
      return network;
    } catch {
      await network.close();
      return null;
    }
  }

  get host(): string {
    return this.addresses.far;
  }

  /** From now on nothing of the connections that are open now arrives, in either direction; new ones work. */
  cutEstablished(): number {
    const ports = localPortsTo(this.addresses.far).filter((port) => !this.lost.has(port));
    for (const port of ports) {
      this.lost.add(port);
      for (const side of ['sport', 'dport']) {
        within(this.routerPid, 'ip', 'rule', 'add', 'ipproto', 'tcp', side, String(port), 'blackhole');
      }
    }
    return ports.length;
  }

  async close(): Promise<void> {
    this.server?.close();
    // The kernel would take it with the namespaces, but only when the last retransmission in them has been given up.
    spawnSync('ip', ['link', 'del', this.link]);
    await Promise.all(this.processes.map(endOf));
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async build(): Promise<void> {
    const { near, router, gate, far } = this.addresses;
    const routerPid = await this.ownNetwork(KEEPER);
    const farPid = await this.ownNetwork(FORWARDER, await this.listen());
    this.routerPid = routerPid;
    run('ip', 'link', 'add', this.link, 'type', 'veth', 'peer', 'name', 'near', 'netns', String(routerPid));
    within(routerPid, 'ip', 'link', 'add', 'far', 'type', 'veth', 'peer', 'name', 'near', 'netns', String(farPid));
    run('ip', 'addr', 'add', `${near}/30`, 'dev', this.link);
    run('ip', 'link', 'set', this.link, 'up');
    for (const [pid, device, address] of [
      [routerPid, 'near', router],
      [routerPid, 'far', gate],
      [farPid, 'near', far],
    ] as const) {
      within(pid, 'ip', 'addr', 'add', `${address}/30`, 'dev', device);
      within(pid, 'ip', 'link', 'set', device, 'up');
    }
    within(farPid, 'ip', 'route', 'add', 'default', 'via', gate);
    run('ip', 'route', 'add', `${far}/32`, 'via', router);
    within(routerPid, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward');
  }

  /** A socket file through which connections go on to the server. */
  private async listen(): Promise<string> {
    const file = join(this.folder, 'database.sock');
    this.server = createServer((near) => {
      const far = connect(this.targetPort, '127.0.0.1');
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        from.on('error', () => to.destroy());
        from.on('close', () => to.destroy());
        from.pipe(to);
      }
    });
    this.server.listen(file);
    await once(this.server, 'listening');
    return file;
  }

  /** @returns the process whose network namespace is a new one */
  private async ownNetwork(program: string, ...args: string[]): Promise<number> {
    const command = ['--net', process.execPath, '-e', program, ...args];
    const child = spawn('unshare', command, { stdio: ['pipe', 'pipe', 'ignore'] });
    this.processes.push(child);
    await Promise.race([
      once(child.stdout, 'data'),
      once(child, 'exit').then(() => Promise.reject(new Error('no network of its own'))),
    ]);
    return child.pid ?? 0;
  }
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

function within(pid: number, ...command: string[]): void {
  run('nsenter', `--net=/proc/${pid}/ns/net`, ...command);
}

function run(program: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
}

/** Of this network namespace's connections to an address, as the kernel lists them. */
function localPortsTo(host: string): number[] {
  const wanted = host
    .split('.')
    .reverse()
    .map((part) => Number(part).toString(16).padStart(2, '0'))
    .join('')
    .toUpperCase();
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  return lines.flatMap((line) => {
    const [, local = '', remote = '', state] = line.trim().split(/\s+/);
    return state === '01' && remote.startsWith(`${wanted}:`) ? [Number.parseInt(local.split(':')[1] ?? '', 16)] : [];
  });
}
