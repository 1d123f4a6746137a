import { parseArgs } from 'node:util';

import { UserError } from './user-error.mjs';

/**
 * What a script was called with, read before it begins anything: `--help` prints how it is called and ends it, and what it does not know is refused. A
 * mistyped option would otherwise start a system or migrate a database.
 *
 * @param {string} usage as it is typed, one call in each line
 * @param {{ flags?: string[], values?: string[], names?: boolean }} [known] `values`: options that take one; `names`: words that are no options
 * @returns {{ flags: Set<string>, values: Record<string, string | undefined>, names: string[] }}
 */
export function readArguments(usage, { flags = [], values = [], names = false } = {}) {
  const options = Object.fromEntries([
    ...[...flags, 'help'].map((flag) => [flag, { type: /** @type {const} */ ('boolean') }]),
    ...values.map((value) => [value, { type: /** @type {const} */ ('string') }]),
  ]);
  const read = parsed({ options, allowPositionals: names }, usage);
  if (read.values['help'] === true) {
    console.log(usage);
    process.exit(0);
  }
  return {
    flags: new Set(flags.filter((flag) => read.values[flag] === true)),
    values: Object.fromEntries(values.map((name) => [name, textOf(read.values[name])])),
    names: read.positionals,
  };
}

/**
 * @param {import('node:util').ParseArgsConfig} config
 * @param {string} usage
 */
function parsed(config, usage) {
  try {
    return parseArgs(config);
  } catch (error) {
    // Only what was typed can be wrong here.
    throw new UserError(`${error instanceof Error ? error.message.split('. ')[0] : String(error)}. ${usage}`);
  }
}

/** @param {unknown} value */
function textOf(value) {
  return typeof value === 'string' ? value : undefined;
}
