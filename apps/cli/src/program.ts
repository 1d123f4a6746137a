import { Command } from 'commander';
import { VERSION } from '#sdk';
import { addCompletion } from './commands/completion.js';
import { addDevices } from './commands/devices.js';
import { addDoctor } from './commands/doctor.js';
import { addEvents } from './commands/events.js';
import { addImport } from './commands/import.js';
import { addListen } from './commands/listen.js';
import { addLogin } from './commands/login.js';
import { addOperator } from './commands/operator.js';
import { addReceipts } from './commands/receipts.js';
import { addTrigger } from './commands/trigger.js';
import type { World } from './session.js';

/**
 * All commands. Nothing is done before one of them is parsed.
 * @param isQuiet what the parser finds wrong is thrown alone, and not written for people
 */
export function createProgram(world: World, isQuiet = false): Command {
  const program = new Command('fgw')
    .description('The command line of the fiscal receipt gateway.')
    .version(VERSION, '-V, --version')
    .option('--json', 'JSON for programs, one value per line')
    .option('--profile <name>', 'the profile that `fgw login` kept ("default")')
    .option('--url <address>', 'the gateway, in place of that of the profile')
    .option('--insecure', 'allow http to a gateway on another machine: credentials can be read on the way')
    .option('--no-color', 'no colours; they are also off when standard output is no terminal')
    .showHelpAfterError('(fgw --help lists the commands)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void world.streams.stdout.write(text),
      writeErr: (text) => void (isQuiet || world.streams.stderr.write(text)),
    });
  addLogin(program, world);
  addReceipts(program, world);
  addEvents(program, world);
  addListen(program, world);
  addTrigger(program, world);
  addDevices(program, world);
  addImport(program, world);
  addDoctor(program, world);
  addOperator(program, world);
  addCompletion(program, world);
  return program;
}
