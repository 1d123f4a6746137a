import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Carries connections of the far side to the socket file, which lies in no network. */
const FORWARDER = `
const net = require('node:net');
net.createServer((near) => {
  const far = net.connect(process.argv[1]);
  for (const [from, to] of [[near, far], [far, near]]) {
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
    from.pipe(to);
  }
}).listen(5432, '0.0.0.0', () => console.log('listening'));`;

/**
 * A way to a server over three network namespaces, on which packets of chosen connections are lost for good: by the kernel, on
 * a router in the middle, so that neither side notices. Only root on Linux may make one.
 */
export class LossyNetwork {
  private readonly addresses: { near: string; router: string; gate: string; far: string };
  private readonly names: { router: string; far: string; link: string };
  private readonly folder = mkdtempSync(join(tmpdir(), 'fiscal-lossy-'));
  private readonly lost = new Set<number>();
  private server: Server | null = null;
  private forwarder: ChildProcess | null = null;

  private constructor(private readonly targetPort: number) {
    // Of the range that is set aside for tests of networks (RFC 2544).
    const net = process.pid % 250;
    this.addresses = {
      near: `198.18.${net}.1`,
      router: `198.18.${net}.2`,
      gate: `198.19.${net}.1`,
      far: `198.19.${net}.2`,
    };
    this.names = { router: `fr${process.pid}r`, far: `fr${process.pid}f`, link: `fr${process.pid}` };
  }

  /** @returns null where this machine does not let us */
  static async open(targetPort: number): Promise<LossyNetwork | null> {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return null;
    const network = new LossyNetwork(targetPort);
    try {
      network.build();
      await network.forward();
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
        ip('-n', this.names.router, 'rule', 'add', 'ipproto', 'tcp', side, String(port), 'blackhole');
      }
    }
    return ports.length;
  }

  async close(): Promise<void> {
    this.forwarder?.kill('SIGKILL');
    this.server?.close();
    spawnSync('ip', ['link', 'del', `${this.names.link}a`]);
    for (const name of [this.names.router, this.names.far]) spawnSync('ip', ['netns', 'del', name]);
    rmSync(this.folder, { recursive: true, force: true });
    await Promise.resolve();
  }

  private build(): void {
    const { near, router, gate, far } = this.addresses;
    const { router: routerName, far: farName, link } = this.names;
    for (const name of [routerName, farName]) ip('netns', 'add', name);
    ip('link', 'add', `${link}a`, 'type', 'veth', 'peer', 'name', 'near', 'netns', routerName);
    ip('-n', routerName, 'link', 'add', 'far', 'type', 'veth', 'peer', 'name', 'near', 'netns', farName);
    ip('addr', 'add', `${near}/30`, 'dev', `${link}a`);
    ip('link', 'set', `${link}a`, 'up');
    for (const [name, device, address] of [
      [routerName, 'near', router],
      [routerName, 'far', gate],
      [farName, 'near', far],
    ] as const) {
      ip('-n', name, 'addr', 'add', `${address}/30`, 'dev', device);
      ip('-n', name, 'link', 'set', device, 'up');
    }
    ip('-n', farName, 'route', 'add', 'default', 'via', gate);
    ip('route', 'add', `${far}/32`, 'via', router);
    ip('netns', 'exec', routerName, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward');
  }

  private async forward(): Promise<void> {
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
    const command = ['netns', 'exec', this.names.far, process.execPath, '-e', FORWARDER, file];
    this.forwarder = spawn('ip', command, { stdio: ['ignore', 'pipe', 'ignore'] });
    if (!this.forwarder.stdout) throw new Error('the forwarder has no output');
    await Promise.race([
      once(this.forwarder.stdout, 'data'),
      once(this.forwarder, 'exit').then(() => Promise.reject(new Error('the forwarder did not start'))),
    ]);
  }
}

function ip(...args: string[]): void {
  const { status, stderr } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
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
