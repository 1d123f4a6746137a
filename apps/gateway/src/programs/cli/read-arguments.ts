import { access } from 'node:fs/promises';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { UsageError } from './usage-error.js';

type Options = NonNullable<ParseArgsConfig['options']>;
type Read<Known extends Options> = ReturnType<
  typeof parseArgs<{ args: string[]; options: Known; allowPositionals: true; strict: true }>
>;

/** @throws UsageError for an option that is in no command, or lacks its value */
export function readArguments<const Known extends Options>(
  args: readonly string[],
  options: Known,
  usage: string,
): Read<Known> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  }
}

/** @throws UsageError for an option of another command than this one */
export function refuseForeignOptions(
  command: string,
  { values, known, usage }: { values: object; known: readonly string[]; usage: string },
): void {
  const foreign = Object.keys(values).filter((option) => !known.includes(option));
  if (foreign.length > 0) throw new UsageError(`${command} has no --${foreign.join(', --')}\n\n${usage}`);
}

/** @throws UsageError */
export async function mustExist(file: string): Promise<void> {
  try {
    await access(file);
  } catch (error) {
    throw new UsageError(`There is no file ${JSON.stringify(file)} that can be read.`, { cause: error });
  }
}
