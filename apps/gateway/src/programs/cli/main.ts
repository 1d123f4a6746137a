import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { NestFactory } from '@nestjs/core';
import { Problem } from '#problems';
import { createLogger, NestLogger, runProgram } from '#runtime';
import { loadSettings } from '../../settings.js';
import { actorOf, askForActor, withoutActor } from './actor.js';
import { CliModule } from './cli.module.js';
import { Cli } from './cli.js';
import { OperatorDoctor } from './doctor/operator-doctor.js';
import { readCommand, type ReadCommand } from './read-arguments.js';
import { UsageError } from './usage-error.js';

/** Something in the command, or something that it met, not a failure of the program. */
const EXIT_REFUSED = 2;
/** `doctor` found something bad; the same as that of `fgw doctor`. */
const EXIT_UNWELL = 9;

// Files of any size pass through here, and latency does not matter: the heap grows slowly and is swept often.
setFlagsFromString('--optimize-for-size');

runProgram(async () => {
  const { name, rest } = withoutActor(process.argv.slice(2));
  const command = commandOf(rest);
  if (command === null) return;
  const actor = name === null ? await actorFor(command) : actorOf(name);
  if (actor === null) return refuse('--as must be a name or an e-mail address');
  const settings = loadSettings();
  // Standard output is the answer's alone: what goes wrong is reported by the exit code and on standard error.
  const logger = createLogger('cli', settings.LOG_LEVEL, { write: (line) => void process.stderr.write(line) });
  const app = await NestFactory.createApplicationContext(CliModule.create(settings, logger, actor), {
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  try {
    const diagnosis = command.name === 'doctor' ? await app.get(OperatorDoctor).run() : null;
    const answer = diagnosis ?? (await app.get(Cli).carryOut(command));
    process.stdout.write(`${JSON.stringify(answer, null, rest.includes('--json') ? 0 : 2)}\n`);
    if (diagnosis?.state === 'bad') process.exitCode = EXIT_UNWELL;
  } catch (error) {
    const sentence = sentenceOf(error);
    if (sentence === null) throw error;
    refuse(sentence);
  } finally {
    await app.close();
  }
});

/** Null: the help was printed, or what is no command refused. */
function commandOf(args: readonly string[]): ReadCommand | null {
  try {
    const command = readCommand(args);
    if (!('help' in command)) return command;
    process.stdout.write(command.help);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    refuse(`${error.message}\n(--help lists the commands and their options)`);
  }
  return null;
}

function refuse(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
  process.exitCode = EXIT_REFUSED;
}

/** What only reads leaves nothing on the trail. */
async function actorFor({ name, verb }: ReadCommand): Promise<string> {
  const isReading = name === 'doctor' || ['list', 'show', 'export', 'verify'].includes(verb);
  return isReading ? 'cli' : askForActor({ input: process.stdin, output: process.stderr });
}

function sentenceOf(error: unknown): string | null {
  if (error instanceof UsageError) return error.message;
  if (!(error instanceof Problem)) return null;
  return error.errors.length > 0 ? error.errors.map(({ detail }) => detail).join('\n') : error.detail;
}
