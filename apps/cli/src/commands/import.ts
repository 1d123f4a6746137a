import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import type { FiscalGateway, Schema } from '#sdk';
import { CommandError } from '../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { asCommandError } from '../read-input.js';
import { inSession, type Session, type World } from '../session.js';

type Import = Schema<'ImportView'>;

interface ImportOptions {
  full?: boolean;
  rejected?: string;
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.jsonl': 'application/x-ndjson',
  '.ndjson': 'application/x-ndjson',
  '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};
const POLL_MS = 500;

export function addImport(program: Command, world: World): void {
  program
    .command('import')
    .description('upload files')
    .command('products')
    .argument('<file>', '.csv, .xlsx or .jsonl, as docs/catalog.md describes them')
    .description('products of the catalogue, by sku (scope catalog:write)')
    .option('--full', 'the file is the whole catalogue: what it lacks is archived')
    .option('--rejected <file>', 'where to write the rows that were not taken, with reasons')
    .action(inSession<[string, ImportOptions]>(world, importProducts));
}

async function importProducts(session: Session, file: string, options: ImportOptions): Promise<ExitCode> {
  const contentType = MEDIA_TYPES[extname(file).toLowerCase()];
  if (contentType === undefined) throw new CommandError(`${file} is none of .csv, .xlsx, .jsonl.`);
  const content = await readFile(file).catch((error: unknown) => Promise.reject(asCommandError(error, file) as Error));
  const fgw = await session.client();
  const signal = session.stopping;
  const mode = options.full === true ? 'full' : 'upsert';
  // The file may take long to arrive, and is not sent twice by itself.
  const call = { signal, attemptTimeoutMs: 600_000 };
  const begun = await fgw.catalog.import({ content, contentType }, mode, call);
  const done = await untilDone(fgw, begun, signal);
  const { rejected = 0 } = done.progress;
  if (rejected > 0 && options.rejected !== undefined) {
    const rows = await fgw.catalog.rejectedRows(done.id, undefined, { signal });
    if (rows.body !== null) await pipeline(Readable.fromWeb(rows.body as never), createWriteStream(options.rejected));
  }
  show(session, done, options.rejected ?? null);
  return done.state === 'done' && rejected === 0 ? EXIT.done : EXIT.refused;
}

async function untilDone(fgw: FiscalGateway, begun: Import, signal: AbortSignal): Promise<Import> {
  let read = begun;
  while (read.state === 'running') {
    await delay(POLL_MS, undefined, { signal });
    read = await fgw.catalog.getImport(begun.id, { signal });
  }
  return read;
}

function show({ output }: Session, { id, state, error, progress, ...rest }: Import, rejectedFile: string | null): void {
  const { rows, created, updated, unchanged, rejected, archived } = progress;
  output.record({ id, state, error, progress, ...rest }, [
    ['import', id],
    ['state', state],
    ['why', error],
    ['rows', rows],
    ['created', created],
    ['updated', updated],
    ['unchanged', unchanged],
    ['archived', archived],
    ['rejected', rejected],
    ['rejected rows', (rejected ?? 0) > 0 ? (rejectedFile ?? '--rejected FILE writes them') : null],
  ]);
}
