import { readFileSync } from 'node:fs';
import { findSourceMap, SourceMap, type SourceMapPayload } from 'node:module';
import { dirname, resolve } from 'node:path';

/** As V8 writes it: `Till.refuse (/folder/file.js:7:11)`; the types do not say that it does. */
interface Frame extends NodeJS.CallSite {
  toString(): string;
}

/**
 * Stacks of a program that is one file (scripts/lib/bundle-programs.mjs) name the lines of its sources. Its map is read when a stack is
 * first asked for: Node.js itself reads maps when a program starts, a seventh of what that takes.
 * @param bundle the file; its map stands beside it
 */
export function mapStacks(bundle: string): void {
  let own: Pick<SourceMap, 'findEntry'> | undefined;
  Error.prepareStackTrace = (error, frames) => {
    const map = (own ??= readMap(bundle));
    const lines = frames.map((frame) => `    at ${asInSource(frame, bundle, map)}`);
    return [headOf(error), ...lines].join('\n');
  };
}

/** As Node.js writes it: its own errors say their code. */
function headOf(error: Error): string {
  const { code } = error as { code?: unknown };
  const isNodes = typeof code === 'string' && code.startsWith('ERR_');
  return isNodes ? `${error.name} [${code}]: ${error.message}` : Error.prototype.toString.call(error);
}

/** One that is not there must not take the place of the error whose stack is asked for. */
function readMap(bundle: string): Pick<SourceMap, 'findEntry'> {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${bundle}.map`, 'utf8')) as SourceMapPayload);
  } catch (error) {
    process.stderr.write(`Stacks name the lines of ${bundle}: ${String(error)}\n`);
    return { findEntry: () => ({}) };
  }
}

function asInSource(frame: Frame, bundle: string, own: Pick<SourceMap, 'findEntry'>): string {
  const [file, line, column] = [frame.getFileName(), frame.getLineNumber(), frame.getColumnNumber()];
  if (!file || line === null || column === null) return frame.toString();
  const entry = (file === bundle ? own : findSourceMap(file))?.findEntry(line - 1, column - 1);
  if (entry === undefined || !('originalSource' in entry)) return frame.toString();
  const source = file === bundle ? resolve(dirname(bundle), entry.originalSource) : entry.originalSource;
  const place = `${source}:${String(entry.originalLine + 1)}:${String(entry.originalColumn + 1)}`;
  return frame.toString().replace(`${file}:${String(line)}:${String(column)}`, () => place);
}
