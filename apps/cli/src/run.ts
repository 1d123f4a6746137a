import { CommanderError } from 'commander';
import { CommandError, failureOf } from './errors.js';
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
  const isJson = args.includes('--json');
  try {
    await createProgram(world, isJson).parseAsync([...args], { from: 'user' });
    return world.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT.done;
      return isJson ? report(usageError(error), args, world) : EXIT.usage;
    }
    if (world.stopping.aborted) return EXIT.interrupted;
    return report(error, args, world);
  }
}

/** What the parser has written for people where it was not to be quiet. */
function usageError({ code, message }: CommanderError): CommandError {
  return new CommandError(code === 'commander.help' ? 'The name of a command is missing.' : message);
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
