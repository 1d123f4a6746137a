import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { CommandError } from '../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import type { World } from '../session.js';

const PROGRAM = join('scripts', 'cli.mjs');

/** Only for the help and the completion: `run` calls `runOperator` before anything is parsed. */
export function addOperator(program: Command): void {
  program
    .command('operator')
    .argument('[args...]', 'merchant, client, catalog, classifier, restore, terminal …')
    .description("the operator's commands, on the gateway's own machine: the same as `npm run cli --`");
}

/** The operator's program works on the database, without a token; so it runs as a process of its own, beside the gateway. */
export async function runOperator(args: readonly string[], { streams }: World): Promise<ExitCode> {
  const script = findProgram(import.meta.dirname);
  if (script === null) {
    const { message } = new CommandError(
      "This fgw is not the one of the gateway's folder. Run `npm run fgw -- operator …` there.",
    );
    streams.stderr.write(`${message}\n`);
    return EXIT.usage;
  }
  const child = spawn(process.execPath, [script, ...args], { stdio: 'inherit' });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  // Of its own it knows 0, 1 and 2, with the meaning that they have here.
  if (code === 0) return EXIT.done;
  return code === 2 ? EXIT.usage : EXIT.failed;
}

function findProgram(folder: string): string | null {
  const script = join(folder, PROGRAM);
  if (existsSync(script)) return script;
  const above = dirname(folder);
  return above === folder ? null : findProgram(above);
}
