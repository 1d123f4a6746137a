import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { toGoodsEntry, type ClassifierEntry, type GoodsEntry, type GoodsLookup } from '#fiscal-domain';
import { StartFailure } from '#runtime';

/** The classification file cannot be used; the message names the line. */
export class ClassifierError extends StartFailure {
  override readonly name = 'ClassifierError';
}

/** The classification register that the device holds: what E-013, E-014, E-004 and E-003 are decided by. */
export class Classifier {
  private constructor(
    private readonly entries: ReadonlyMap<string, GoodsEntry>,
    /** The newest that any entry is of; 0 = the file does not state it. */
    readonly version: number,
  ) {}

  /**
   * Reads JSON lines (one classifier entry each; a later line for the same code replaces an earlier one).
   * @param file `undefined`: the built-in sample
   * @throws ClassifierError naming file and line
   */
  static load(file: string | undefined): Classifier {
    const path = file ?? sampleFile();
    let text: string;
    try {
      text = readFileSync(path, 'utf8');
    } catch (error) {
      throw new ClassifierError(`The classification file ${path} cannot be read.`, { cause: error });
    }
    const entries = new Map<string, GoodsEntry>();
    let version = 0;
    for (const [index, line] of text.split('\n').entries()) {
      if (line.trim() === '') continue;
      const entry = readEntry(line);
      if (!entry) throw new ClassifierError(`Line ${String(index + 1)} of ${path} is not a classifier entry.`);
      entries.set(entry.spic, toGoodsEntry(entry));
      if (Number.isSafeInteger(entry.version)) version = Math.max(version, entry.version);
    }
    return new Classifier(entries, version);
  }

  get size(): number {
    return this.entries.size;
  }

  readonly lookUp: GoodsLookup = (spic) => this.entries.get(spic);
}

function readEntry(line: string): ClassifierEntry | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  const entry = value as Partial<ClassifierEntry> | null;
  if (typeof entry?.spic !== 'string' || !/^\d{17}$/.test(entry.spic)) return null;
  if (!Array.isArray(entry.packages)) return null;
  if (!entry.packages.every((pack: unknown) => typeof (pack as { code?: unknown } | null)?.code === 'string'))
    return null;
  const flags = [entry.marked, entry.cash_allowed, entry.active];
  return flags.every((flag) => typeof flag === 'boolean') ? (entry as ClassifierEntry) : null;
}

/** The sample lies in the repository's `data/`, above both the sources and the compiled program. */
function sampleFile(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const candidate = join(folder, 'data', 'classifier-sample.jsonl');
    if (existsSync(candidate)) return candidate;
    if (folder === dirname(folder)) throw new ClassifierError('The built-in classification sample is missing.');
  }
}
