import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

const EXAMPLES = join(process.cwd(), 'examples');

export interface Command {
  file: string;
  args: string[];
  cwd: string;
  env?: Record<string, string>;
}

/** How one language's example is run. */
export interface Language {
  name: string;
  /** Asked for its version; null when it needs nothing that a machine may lack. */
  tool: string | null;
  algorithm: 'ed25519' | 'hmac-sha256';
  /** The SDK is installed there by the test, as a package. */
  hasSdk?: boolean;
  /** Its fetch sends a request again by itself when a kept connection ends: that copy has the same signature. */
  sendsTwice?: boolean;
  /** Builds or installs into a folder of the test; the example itself stays as it is. */
  prepare(folder: string): Promise<unknown>;
  sell(folder: string, number: string): Command;
  /** Null: the language has no server, and verifies by a command instead. */
  webhook: ((folder: string, port: number) => Command) | null;
}

const MONO = ['-r:System.Net.Http', '-r:System.Runtime.Serialization'];

export const LANGUAGES: Language[] = [
  javascript('node', [process.execPath]),
  {
    ...javascript('deno', ['deno', 'run', '--quiet', '--allow-all', '--node-modules-dir=manual']),
    sendsTwice: true,
  },
  javascript('bun', ['bun']),
  {
    name: 'python',
    tool: 'python3',
    algorithm: 'ed25519',
    prepare: () => Promise.resolve(),
    sell: (folder, number) => python(folder, ['sell.py', number]),
    webhook: (folder) => python(folder, ['webhook.py']),
  },
  {
    name: 'php',
    tool: 'php',
    algorithm: 'ed25519',
    prepare: () => Promise.resolve(),
    sell: (_folder, number) => ({ file: 'php', args: ['sell.php', number], cwd: join(EXAMPLES, 'php') }),
    webhook: (_folder, port) => ({
      file: 'php',
      args: ['-S', `127.0.0.1:${port}`, 'webhook.php'],
      cwd: join(EXAMPLES, 'php'),
    }),
  },
  {
    name: 'go',
    tool: 'go',
    algorithm: 'ed25519',
    prepare: async (folder: string): Promise<void> => {
      const env = { ...process.env, GOFLAGS: '-mod=mod', GOPROXY: 'off', GOTOOLCHAIN: 'local' };
      const options = { cwd: join(EXAMPLES, 'go'), env };
      await execute('go', ['vet', './...'], options);
      await execute('go', ['build', '-o', `${folder}/`, './sell', './webhook'], options);
    },
    sell: (folder, number) => ({ file: join(folder, 'sell'), args: [number], cwd: folder }),
    webhook: (folder) => ({ file: join(folder, 'webhook'), args: [], cwd: folder }),
  },
  {
    name: 'csharp',
    tool: 'mcs',
    algorithm: 'hmac-sha256',
    prepare: async (folder: string): Promise<void> => {
      for (const program of ['Sell', 'Webhook']) {
        const sources = ['FiscalGateway.cs', `${program}.cs`];
        const out = `-out:${join(folder, `${program.toLowerCase()}.exe`)}`;
        await execute('mcs', ['-warnaserror', ...MONO, out, ...sources], { cwd: join(EXAMPLES, 'csharp') });
      }
    },
    sell: (folder, number) => ({ file: 'mono', args: ['sell.exe', number], cwd: folder }),
    webhook: (folder) => ({ file: 'mono', args: ['webhook.exe'], cwd: folder }),
  },
  {
    name: 'curl',
    tool: 'curl',
    algorithm: 'ed25519',
    prepare: () => Promise.resolve(),
    sell: (_folder, number) => ({ file: 'sh', args: ['sell.sh', number], cwd: join(EXAMPLES, 'curl') }),
    webhook: null,
  },
];

/** Under CI every language must be there (.ci/run brings what is missing). */
export function isInstalled(language: Language): boolean {
  return process.env['CI'] === 'true' || isThere(language);
}

function isThere({ tool }: Language): boolean {
  return tool === null || spawnSync(tool, ['--version']).error === undefined;
}

export function newFolder(parent: string, name: string): Promise<string> {
  return mkdtemp(join(parent, `${name}-`));
}

/** The same example in another runtime. */
function javascript(name: string, [file = '', ...args]: string[]): Language {
  return {
    name,
    tool: name === 'node' ? null : name,
    algorithm: 'ed25519',
    hasSdk: true,
    prepare: (folder) => cp(join(EXAMPLES, 'node'), folder, { recursive: true }),
    sell: (folder, number) => ({ file, args: [...args, 'sell.mjs', number], cwd: folder }),
    webhook: (folder) => ({ file, args: [...args, 'webhook.mjs'], cwd: folder }),
  };
}

/** Nothing is written beside the example. */
function python(_folder: string, args: string[]): Command {
  return { file: 'python3', args, cwd: join(EXAMPLES, 'python'), env: { PYTHONDONTWRITEBYTECODE: '1' } };
}
