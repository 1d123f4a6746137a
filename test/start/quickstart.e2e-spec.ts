// Promise: the commands of docs/quickstart.md and examples/README.md work as they stand, from `npm start` to a sale that is refunded, paid and confirmed.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { destroyEmbeddedPostgres } from '../../scripts/lib/embedded-postgres.mjs';
import { until } from '../../libs/runtime/src/testing/until.js';
import { StartedSystem } from './started-system.js';

const PORTS = ['GATEWAY_PORT', 'RELAY_PORT', 'REGISTER_PORT', 'OFD_PORT', 'POSTGRES_PORT', 'PAYMENTS_SIM_PORT'];

interface Step {
  terminal: string;
  /** What it prints when the reader goes on; null: it ends by itself. */
  ready: string | null;
  exitCode: number;
  code: string;
}

interface Walk {
  steps: Step[];
  /** All blocks of commands, with those that have no place. */
  blocks: number;
}

const quickstart = walkOf('docs', 'quickstart.md');
const examples = walkOf('examples', 'README.md');

function walkOf(...path: string[]): Walk {
  const page = readFileSync(join(process.cwd(), ...path), 'utf8');
  const steps = [
    ...page.matchAll(/^<!-- terminal: (\w+)(?:, ready: (\w+))?(?:, exit: (\d+))? -->\n```sh\n([\s\S]*?)^```$/gm),
  ].map(([, terminal = '', ready = null, exit = '0', code = '']) => ({
    ...{ terminal, ready, code },
    exitCode: Number(exit),
  }));
  return { steps, blocks: [...page.matchAll(/^```sh$/gm)].length };
}

const folder = mkdtempSync(join(tmpdir(), 'fiscal-quickstart-'));
const dataDir = join(folder, 'data');
let system: StartedSystem;
let receiverPort: number;
let env: Record<string, string | undefined>;
const terminals: Terminal[] = [];
/** As the page promises, from `npm start` on. */
const MAX_MINUTES = 10;
const begunMs = Date.now();

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
  receiverPort = await freePorts(3);
  env = {
    ...ports,
    DATA_DIR: dataDir,
    FGW_CONFIG: join(folder, 'fgw.json'),
    NODE_OPTIONS: '',
    npm_config_offline: 'true',
  };
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
  return code
    .replace(/(?:\.\/)?\.data\b/g, dataDir)
    .replace(/\b300(\d)\b/g, (_port, at: string) => String(receiverPort + Number(at)));
}

/** The main terminal's steps are one shell: its variables and functions stay. */
function mainScript(part: readonly Step[]): string {
  return part
    .map(({ code, exitCode }) =>
      exitCode === 0 ? here(code) : `set +e\n${here(code)}code=$?\nset -e\n[ "$code" -eq ${exitCode} ]\n`,
    )
    .join('\n');
}

/** Runs the main terminal to the other ones, starts those, and goes on in the main one. What they print. */
async function walk({ steps }: Walk): Promise<{ before: string; after: string; others: Map<string, Terminal> }> {
  const at = steps.findIndex(({ terminal }) => terminal !== 'main');
  const setUp = mainScript(steps.slice(0, at));
  const before = await outputOf(`set -e\n${setUp}`);
  const others = new Map<string, Terminal>();
  for (const step of steps.filter(({ terminal }) => terminal !== 'main')) {
    const terminal = new Terminal(`set -e\n${here(step.code)}`);
    others.set(step.terminal, terminal);
    await until(
      `${step.terminal} is ready`,
      () => terminal.output,
      (text) => text.includes(step.ready ?? ''),
    );
  }
  const rest = mainScript(steps.slice(at).filter(({ terminal }) => terminal === 'main'));
  // The same terminal: what came before is done again, and changes nothing.
  const after = await outputOf(`set -e\n{ ${setUp} } >/dev/null\n${rest}`);
  return { before, after, others };
}

async function outputOf(script: string): Promise<string> {
  const terminal = new Terminal(script);
  const [code] = (await once(terminal.child, 'close')) as [number | null];
  expect({ code, output: terminal.output }).toMatchObject({ code: 0 });
  return terminal.output;
}

test('every command of the pages has its place', () => {
  // `npm start` itself is what this test begins with.
  expect(quickstart.steps.length).toBe(quickstart.blocks - 1);
  expect(new Set(quickstart.steps.map(({ terminal }) => terminal))).toEqual(new Set(['main', 'receiver', 'listener']));
  expect(examples.steps.length).toBe(examples.blocks);
  expect(new Set(examples.steps.map(({ terminal }) => terminal))).toEqual(new Set(['main', 'python', 'php', 'node']));
});

test('from a login to a refund, a payment and its webhook', async () => {
  const { before, after, others } = await walk(quickstart);
  expect(before).toMatch(/✔ registers .*online/);
  expect(before).toContain('HTTP/1.1 201 Created');
  expect(before.match(/^status +registered$/gm)?.length).toBeGreaterThanOrEqual(2);
  expect(after).toMatch(/^type +refund$/m);
  expect(after).toMatch(/^refunded +15 000\.00$/m);
  expect(after).toMatch(/\/items\/0\/price /);
  const received = () => others.get('receiver')?.output ?? '';
  for (const type of ['refund.registered', 'payment.', 'receipt.registered'])
    await until(`the receiver has ${type}`, received, (text) => text.includes(`event ${type}`));
  expect(received()).not.toContain('refused');
  expect((Date.now() - begunMs) / 60_000).toBeLessThan(MAX_MINUTES);
  // Their ports are those of the next page.
  for (const terminal of others.values()) await terminal.end();
});

test('the examples, in every language: a signed sale, its refund, what is refused, and a receiver that verifies', async () => {
  const { after, others } = await walk(examples);
  for (const words of [/^sale rcp_\w+ registered: /gm, /^refund rcp_\w+ registered$/gm, /^refused: 422 /gm])
    expect(after.match(words)).toHaveLength(6);
  for (const [name, terminal] of others)
    await until(
      `${name} has the last refund`,
      () => terminal.output,
      (text) => (text.match(/event refund\.registered/g)?.length ?? 0) >= 6,
    );
});
