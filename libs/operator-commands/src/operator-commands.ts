import { Command, CommanderError, type Option } from 'commander';
import { COMMANDS, NOUNS, type CommandFacts } from './command-table.js';

/** A command of the operator that was read. */
export interface OperatorCommand {
  /** `merchant create` */
  name: string;
  /** What it is about; null: this command names nothing. */
  target: string | null;
  /** By the names of the options, without their dashes; what was not given is missing. */
  values: Readonly<Record<string, string | boolean>>;
}

const HELP = `
Answers are JSON. A client's secret and an invitation's link are shown once. --as NAME says who is acting; else the command asks.`;

/** The operator's commands below this one; nothing is done before one of them is parsed. */
export function addOperatorCommands(parent: Command, run: (command: OperatorCommand) => Promise<void> | void): Command {
  const nouns = new Map<string, Command>();
  for (const [name, about] of Object.entries(NOUNS)) nouns.set(name, parent.command(name).description(about));
  for (const facts of COMMANDS) {
    const [noun = '', verb] = facts.name.split(' ');
    add(verb === undefined ? parent : (nouns.get(noun) ?? parent), facts, run);
  }
  return parent.addHelpText('after', HELP);
}

/**
 * @param args without the name of the program
 * @returns the command, or the help that was asked for
 * @throws CommanderError for what is no command; its message says what is wrong
 */
export function readOperatorCommand(args: readonly string[]): OperatorCommand | { help: string } {
  const read: OperatorCommand[] = [];
  const said: string[] = [];
  const wrong: string[] = [];
  const program = new Command('cli').description("The operator's commands, on the gateway's own machine.");
  // Before the commands are added: they take both over.
  program
    .exitOverride()
    .configureOutput({ writeOut: (text) => void said.push(text), writeErr: (text) => void wrong.push(text) });
  program.option('--as <name>', 'who is acting').option('--json', 'JSON on one line');
  addOperatorCommands(program, (command) => void read.push(command));
  try {
    program.parse([...args], { from: 'user' });
  } catch (error) {
    if (said.length > 0) return { help: said.join('') };
    // `merchant` alone: its commands are what is missing.
    if (error instanceof CommanderError && error.code === 'commander.help') error.message = wrong.join('');
    throw error;
  }
  const [command] = read;
  return command ?? { help: program.helpInformation() };
}

function add(parent: Command, facts: CommandFacts, run: (command: OperatorCommand) => Promise<void> | void): void {
  const { name, about, target, options = [] } = facts;
  const command = parent.command(name.split(' ').at(-1) ?? name).description(about);
  if (target !== undefined) command.argument(`<${target}>`);
  for (const [flags, what] of options) command.option(flags, what);
  command.action(() => run({ name, target: command.args[0] ?? null, values: valuesOf(command) }));
}

function valuesOf(command: Command): Record<string, string | boolean> {
  const given = command.options.map((option: Option): [string, unknown] => [
    (option.long ?? '').slice(2),
    command.getOptionValue(option.attributeName()),
  ]);
  return Object.fromEntries(
    given.filter((one): one is [string, string | boolean] => typeof one[1] === 'string' || one[1] === true),
  );
}
