// Promise: the commands of docs/quickstart.md work as they stand, from `npm start` to a sale that is refunded, paid online and confirmed.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { destroyEmbeddedPostgres } from '../../scripts/lib/embedded-postgres.mjs';
import { until } from '../system/until.js';
import { StartedSystem } from './started-system.js';

const PAGE = readFileSync(join(process.cwd(), 'docs', 'quickstart.md'), 'utf8');
const PORTS = ['GATEWAY_PORT', 'RELAY_PORT', 'REGISTER_PORT', 'OFD_PORT', 'POSTGRES_PORT', 'PAYMENTS_SIM_PORT'];

interface Step {
  terminal: string;
  /** What it prints when the reader goes on; null: it ends by itself. */
  ready: string | null;
  exitCode: number;
  code: string;
}

const steps: Step[] = [
  ...PAGE.matchAll(/^<!-- terminal: (\w+)(?:, ready: (\w+))?(?:, exit: (\d+))? -->\n```sh\n([\s\S]*?)^```$/gm),
].map(([, terminal = '', ready = null, exit = '0', code = '']) => ({ terminal, ready, exitCode: Number(exit), code }));

const folder = mkdtempSync(join(tmpdir(), 'fiscal-quickstart-'));
const dataDir = join(folder, 'data');
let system: StartedSystem;
let receiverPort: number;
let env: Record<string, string | undefined>;
const terminals: Terminal[] = [];

/** A shell of its own, with everything that it starts. */
class Terminal {
  output = '';
  readonly child: ChildProcess;

  constructor(code: string) {
    // Its own group: what it started ends with it.
    this.child = spawn('bash', ['-c', code], { env: { ...process.env, ...env }, detached: true });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    terminals.push(this);
  }

  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'close');
    process.kill(-(this.child.pid ?? 0), 'SIGKILL');
    await gone;
  }
}

beforeAll(async () => {
  const first = await freePorts(PORTS.length);
  const ports = Object.fromEntries(PORTS.map((name, at) => [name, String(first + at)]));
  receiverPort = await freePorts(1);
  env = { FGW_CONFIG: join(folder, 'fgw.json'), NODE_OPTIONS: '', npm_config_offline: 'true' };
  system = new StartedSystem(dataDir, ports);
  await system.says('Running.', 180_000);
});
afterAll(async () => {
  for (const terminal of terminals) await terminal.end();
  await system?.ends('SIGINT');
  await destroyEmbeddedPostgres(dataDir);
  rmSync(folder, { recursive: true, force: true });
});

/** In the folder and on the ports of this test; everything else as it stands. */
function here(code: string): string {
  return code.replace(/(?:\.\/)?\.data\b/g, dataDir).replace(/\b3000\b/g, String(receiverPort));
}

/** The main terminal's steps are one shell: its variables and functions stay. */
function mainScript(part: readonly Step[]): string {
  return part
    .map(({ code, exitCode }) =>
      exitCode === 0 ? here(code) : `set +e\n${here(code)}code=$?\nset -e\n[ "$code" -eq ${exitCode} ]\n`,
    )
    .join('\n');
}

test('every command of the page has its place', () => {
  const blocks = [...PAGE.matchAll(/^```sh$/gm)].length;
  // `npm start` itself is what this test begins with.
  expect(steps.length).toBe(blocks - 1);
  expect(new Set(steps.map(({ terminal }) => terminal))).toEqual(new Set(['main', 'receiver', 'listener']));
});

test('from a login to a refund, a payment and its webhook', async () => {
  const at = steps.findIndex(({ terminal }) => terminal !== 'main');
  const before = new Terminal(`set -e\n${mainScript(steps.slice(0, at))}`);
  const [code] = (await once(before.child, 'close')) as [number | null];
  expect({ code, output: before.output }).toMatchObject({ code: 0 });
  expect(before.output).toMatch(/✔ registers .*online/);
  expect(before.output).toContain('HTTP/1.1 201 Created');
  expect(before.output.match(/^status +registered$/gm)?.length).toBeGreaterThanOrEqual(2);

  const staying = new Map<string, Terminal>();
  for (const step of steps.filter(({ terminal }) => terminal !== 'main')) {
    const terminal = new Terminal(`set -e\n${here(step.code)}`);
    staying.set(step.terminal, terminal);
    await until(
      `${step.terminal} is ready`,
      () => terminal.output,
      (text) => text.includes(step.ready ?? ''),
    );
  }

  const setUp = mainScript(steps.slice(0, at));
  const rest = mainScript(steps.slice(at).filter(({ terminal }) => terminal === 'main'));
  // The same terminal: what came before is done again, and changes nothing.
  const after = new Terminal(`set -e\n{ ${setUp} } >/dev/null\n${rest}`);
  const [last] = (await once(after.child, 'close')) as [number | null];
  expect({ code: last, output: after.output }).toMatchObject({ code: 0 });
  expect(after.output).toMatch(/^type +refund$/m);
  expect(after.output).toMatch(/^refunded +15 000\.00$/m);
  expect(after.output).toMatch(/\/items\/0\/price /);
  const received = () => staying.get('receiver')?.output ?? '';
  for (const type of ['refund.registered', 'payment.', 'receipt.registered'])
    await until(`the receiver has ${type}`, received, (text) => text.includes(`event ${type}`));
  expect(received()).not.toContain('refused');
}, 300_000);
