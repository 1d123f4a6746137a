import { CommanderError } from 'commander';
import { failureOf } from './errors.js';
import { EXIT, type ExitCode } from './exit-codes.js';
import { CANDIDATES, candidatesOf } from './commands/completion.js';
import { createProgram } from './program.js';
import { outputOf, type World } from './session.js';

/** @returns the exit code */
export async function run(args: readonly string[], world: World): Promise<ExitCode> {
  if (args[0] === CANDIDATES) {
    for (const candidate of candidatesOf(createProgram(world), args.slice(1)))
      world.streams.stdout.write(`${candidate}\n`);
    return EXIT.done;
  }
  try {
    await createProgram(world).parseAsync([...args], { from: 'user' });
    return world.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    if (world.stopping.aborted) return EXIT.interrupted;
    return report(error, args, world);
  }
}

function report(error: unknown, args: readonly string[], world: World): ExitCode {
  const failure = failureOf(error);
  // A fault of this program: where it happened is what helps.
  if (failure === null) {
    world.streams.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    return EXIT.failed;
  }
  const output = outputOf(world, { json: args.includes('--json'), color: !args.includes('--no-color') });
  if (output.isJson) output.note(JSON.stringify(failure.facts));
  else failure.lines.forEach((line, at) => output.note(at === 0 ? output.paint('red', line) : line));
  return failure.exitCode;
}
