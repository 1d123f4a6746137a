import { access } from 'node:fs/promises';
import { CommanderError } from 'commander';
import { readOperatorCommand, type OperatorCommand } from '#operator-commands';
import { UsageError } from './usage-error.js';

/** What a command was given, by the names of its options: texts, and `true` for those without a value. */
export type Given = Readonly<Partial<Record<string, string>>>;

export interface ReadCommand {
  name: string;
  /** The noun's own word: `create` of `merchant create`. */
  verb: string;
  /** Empty: the command names nothing. */
  target: string;
  values: Given;
  flags: ReadonlySet<string>;
}

/** @returns the help where that was asked for @throws UsageError for what is no command */
export function readCommand(args: readonly string[]): ReadCommand | { help: string } {
  const read = readOrRefuse(args);
  if ('help' in read) return read;
  const { name, target, values } = read;
  const given = Object.entries(values);
  return {
    ...{ name, verb: name.split(' ')[1] ?? '', target: target ?? '' },
    values: Object.fromEntries(given.filter((one): one is [string, string] => typeof one[1] === 'string')),
    flags: new Set(given.filter(([, value]) => value === true).map(([option]) => option)),
  };
}

function readOrRefuse(args: readonly string[]): OperatorCommand | { help: string } {
  try {
    return readOperatorCommand(args);
  } catch (error) {
    if (error instanceof CommanderError) throw new UsageError(error.message.replace(/^error: /, ''));
    throw error;
  }
}

/** @throws UsageError */
export async function mustExist(file: string): Promise<void> {
  try {
    await access(file);
  } catch (error) {
    throw new UsageError(`There is no file ${JSON.stringify(file)} that can be read.`, { cause: error });
  }
}
