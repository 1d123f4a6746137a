import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isObject } from '#fiscal-domain';
import type { Evidence } from '../../operator/lock-device.js';
import { readCsv } from '../../goods/sheets/csv.js';
import { readLines } from '../../goods/sheets/lines.js';
import { mustExist } from './read-arguments.js';
import { UsageError } from './usage-error.js';

/** One line of the file: what a person has decided about one attempt. */
export interface FileDecision {
  line: number;
  /** The attempt. */
  id: string;
  /** The fields of `POST /v1/operator/attempts/{id}/resolve`, without the reason. */
  fields: Record<string, unknown>;
}

/** True or false. */
const FLAGS = ['confirm_unsettled', 'confirm_terminal', 'send_again'];
const CLAIM = ['receipt_seq', 'fiscal_sign', 'verification_url', 'terminal_id', 'registered_at'];
const FIELDS = ['decision', ...CLAIM, ...FLAGS];

/** Lines of JSON as `restore list` writes them, or CSV with a header; lines without a decision are left out. @throws UsageError */
export async function* readDecisions(file: string): AsyncGenerator<FileDecision, void, undefined> {
  await mustExist(file);
  const lines = file.endsWith('.csv') ? csvLines(file) : jsonLines(file);
  for await (const { line, values } of lines) {
    const id = values['attempt_id'];
    const given = FIELDS.map((name) => [name, values[name]] as const).filter(
      ([, value]) => value !== null && value !== undefined && value !== '',
    );
    const fields = Object.fromEntries(given);
    if (fields['decision'] === undefined) continue;
    if (typeof id !== 'string') throw new UsageError(`Line ${line} names no attempt_id.`);
    yield { line, id, fields };
  }
}

/** What the decisions rest on, by name and digest. @throws UsageError */
export async function evidenceOf(file: string | undefined): Promise<Evidence> {
  if (file === undefined) throw new UsageError('--evidence is missing: the file that was compared (OFD list, journal)');
  await mustExist(file);
  const digest = createHash('sha256');
  await pipeline(createReadStream(file), digest);
  return { file: basename(file), sha256: digest.digest('hex') };
}

interface Line {
  line: number;
  values: Record<string, unknown>;
}

async function* jsonLines(file: string): AsyncGenerator<Line, void, undefined> {
  for await (const { number: line, cells, faults } of readLines(file)) {
    if (faults.length > 0) throw new UsageError(`Line ${line}: ${faults.join(', ')}`);
    yield { line, values: parsed(String(cells[0] ?? ''), line) };
  }
}

function parsed(text: string, line: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch (error) {
    throw new UsageError(`Line ${line} is no JSON.`, { cause: error });
  }
  throw new UsageError(`Line ${line} is no JSON object.`);
}

async function* csvLines(file: string): AsyncGenerator<Line, void, undefined> {
  let names: string[] | null = null;
  for await (const { number: line, cells, faults } of readCsv(file)) {
    if (faults.length > 0) throw new UsageError(`Line ${line}: ${faults.join(', ')}`);
    if (names === null) names = cells.map((cell) => String(cell ?? '').trim());
    else {
      const values = Object.fromEntries(names.map((name, index) => [name, typed(name, cells[index] ?? null)]));
      yield { line, values };
    }
  }
}

/** A cell is text; the body's rules want what it means. */
function typed(name: string, cell: unknown): unknown {
  const text = typeof cell === 'string' ? cell.trim() : cell;
  if (name === 'receipt_seq' && typeof text === 'string' && /^\d+$/.test(text)) return Number(text);
  if (FLAGS.includes(name) && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
