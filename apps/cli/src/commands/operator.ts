import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { addOperatorCommands, type OperatorCommand } from '#operator-commands';
import { CommandError } from '../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import type { World } from '../session.js';

const PROGRAM = join('scripts', 'cli.mjs');
const KNOWN: readonly number[] = Object.values(EXIT);

/** The operator's commands as they are; each is carried out by the operator's own program. */
export function addOperator(program: Command, world: World): void {
  const operator = program
    .command('operator')
    .description("the operator's commands, on the gateway's own machine: the same as `npm run cli --`")
    .option('--as <name>', 'who is acting; it stands on the trail');
  addOperatorCommands(operator, async (command) => {
    const { as, json } = operator.optsWithGlobals<{ as?: string; json?: boolean }>();
    const more = [...(as === undefined ? [] : [`--as=${as}`]), ...(json === true ? ['--json'] : [])];
    world.exitCode = await runOperator([...argumentsOf(command), ...more]);
  });
}

function argumentsOf({ name, target, values }: OperatorCommand): string[] {
  const options = Object.entries(values).map(([option, value]) =>
    value === true ? `--${option}` : `--${option}=${value}`,
  );
  return [...name.split(' '), ...(target === null ? [] : [target]), ...options];
}

/** It works on the database, without a token; so it runs as a process of its own, beside the gateway. */
async function runOperator(args: readonly string[]): Promise<ExitCode> {
  const script = findProgram(import.meta.dirname);
  if (script === null)
    throw new CommandError("This fgw is not the one of the gateway's folder. Run `npm run fgw -- operator …` there.");
  const child = spawn(process.execPath, [script, ...args], { stdio: 'inherit' });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  // What it knows means the same here.
  return KNOWN.includes(code ?? -1) ? (code as ExitCode) : EXIT.failed;
}

function findProgram(folder: string): string | null {
  const script = join(folder, PROGRAM);
  if (existsSync(script)) return script;
  const above = dirname(folder);
  return above === folder ? null : findProgram(above);
}
