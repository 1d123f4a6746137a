import { createReadStream, createWriteStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { extname } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { newId } from '#runtime';
import { ExportProducts, rejectedFile } from '../catalog/files/export-products.js';
import { ImportProducts, type ImportCounts } from '../catalog/files/import-products.js';
import { FILE_FORMATS, type FileFormat } from '../catalog/files/product-table.js';
import type { ImportKind } from '../classifier/apply-version.js';
import { LoadClassifier, type LoadOutcome } from '../classifier/load-classifier.js';
import { Merchants } from '../merchants/merchants.js';
import type { GatewaySettings } from '../settings.js';
import { UnreadableFile } from '../sheets/sheet-row.js';
import { SETTINGS_TOKEN } from '../tokens.js';
import { ProgressLine } from './progress-line.js';
import { UsageError } from './usage-error.js';

export const CATALOG_USAGE = `  catalog import --merchant CODE_OR_ID --file FILE [--format csv|xlsx|jsonl] [--full] [--rejected FILE]
  catalog export --merchant CODE_OR_ID --file FILE [--format csv|xlsx|jsonl]
  classifier load full|inactive|changes|lines [--source URL_OR_FILE]`;

const OPTIONS = {
  merchant: { type: 'string' },
  file: { type: 'string' },
  format: { type: 'string' },
  full: { type: 'boolean' },
  rejected: { type: 'string' },
  source: { type: 'string' },
} as const;

const COMMANDS: Readonly<Record<string, readonly (keyof typeof OPTIONS)[]>> = {
  'catalog import': ['merchant', 'file', 'format', 'full', 'rejected'],
  'catalog export': ['merchant', 'file', 'format'],
  'classifier load': ['source'],
};

type Given = ReturnType<typeof readArguments>['values'];

/** Files of products and loads of the classification register, without a limit of time or size. */
@Injectable()
export class CatalogCommands {
  constructor(
    private readonly merchants: Merchants,
    private readonly imports: ImportProducts,
    private readonly exports: ExportProducts,
    private readonly load: LoadClassifier,
    @Inject(SETTINGS_TOKEN) private readonly settings: GatewaySettings,
  ) {}

  /** Whether it is one of these commands. */
  static knows([noun = '']: readonly string[]): boolean {
    return noun === 'catalog' || noun === 'classifier';
  }

  /** @returns what is printed @throws UsageError */
  async run(args: readonly string[]): Promise<unknown> {
    const { values, positionals } = readArguments(args);
    const [noun = '', verb = '', ...targets] = positionals;
    const known = COMMANDS[`${noun} ${verb}`];
    if (!known) throw new UsageError(`Usage:\n${CATALOG_USAGE}`);
    const foreign = Object.keys(values).filter((option) => !known.some((name) => name === option));
    if (foreign.length > 0)
      throw new UsageError(`${noun} ${verb} has no --${foreign.join(', --')}\n\n${CATALOG_USAGE}`);
    try {
      if (noun === 'classifier') return await this.loadClassifier(targets, values);
      if (targets.length > 0) throw new UsageError(`Usage:\n${CATALOG_USAGE}`);
      return verb === 'import' ? await this.import(values) : await this.export(values);
    } catch (error) {
      if (error instanceof UnreadableFile) throw new UsageError(error.message);
      throw error;
    }
  }

  private async import(given: Given): Promise<ImportCounts & { rejected_file: string | null }> {
    const { file, format, merchantId } = await this.target(given);
    await mustExist(file);
    const line = new ProgressLine(process.stderr, format === 'xlsx' ? null : await countLines(file));
    const rejected = rejectsTo(given.rejected ?? null, format);
    const caller = { merchantId, actor: 'cli', address: null, requestId: newId('cmd') };
    const mode = given.full === true ? 'full' : 'upsert';
    try {
      const counts = await this.imports.execute(
        caller,
        { path: file, format, mode },
        {
          columns: (names) => rejected.begin(names),
          rejected: (rows) => rejected.add(rows),
          progress: ({ rows, rejected: refused }) => line.draw(rows, `${refused} rejected`),
        },
      );
      return { ...counts, rejected_file: counts.rejected > 0 ? (given.rejected ?? null) : null };
    } finally {
      line.end();
      await rejected.end();
    }
  }

  private async export(given: Given): Promise<{ file: string }> {
    const { file, format, merchantId } = await this.target(given);
    await pipeline(this.exports.products(merchantId, format), createWriteStream(file));
    return { file };
  }

  private async loadClassifier([kind = '', ...more]: readonly string[], given: Given): Promise<LoadOutcome> {
    const sources: Record<ImportKind, string | undefined> = {
      full: this.settings.CLASSIFIER_FULL_URL,
      inactive: this.settings.CLASSIFIER_INACTIVE_URL,
      changes: this.settings.CLASSIFIER_CHANGES_URL,
      lines: undefined,
    };
    if (!Object.hasOwn(sources, kind) || more.length > 0) throw new UsageError(`Usage:\n${CATALOG_USAGE}`);
    const source = given.source ?? sources[kind as ImportKind];
    if (source === undefined)
      throw new UsageError(`Where from? Give --source or set CLASSIFIER_${kind.toUpperCase()}_URL.`);
    if (!/^https?:/.test(source)) await mustExist(source);
    const line = new ProgressLine(process.stderr, null);
    try {
      const outcome = await this.load.execute(kind as ImportKind, source, {
        onProgress: ({ rows, rejected }) => line.draw(rows, `${rejected} rejected`),
      });
      if (outcome.kind === 'busy') throw new UsageError('Another load goes on; try again later.');
      if (outcome.kind === 'failed') throw new UsageError(`Nothing was taken over: ${outcome.reason}`);
      return outcome;
    } finally {
      line.end();
    }
  }

  private async target(given: Given): Promise<{ file: string; format: FileFormat; merchantId: string }> {
    const { merchant, file } = given;
    if (merchant === undefined || file === undefined) throw new UsageError(`Usage:\n${CATALOG_USAGE}`);
    const named = given.format ?? extname(file).slice(1).toLowerCase();
    const format = FILE_FORMATS.find((each) => each === named);
    if (!format) throw new UsageError(`--format must be one of ${FILE_FORMATS.join(', ')}`);
    const found = await this.merchants.find(merchant);
    if (!found) throw new UsageError(`There is no merchant ${JSON.stringify(merchant)}.`);
    return { file, format, merchantId: found.id };
  }
}

interface Rejects {
  begin(columns: readonly string[]): void;
  add(rows: readonly { number: number; cells: (string | null)[]; reasons: string }[]): Promise<void>;
  end(): Promise<void>;
}

/** Writes rejected rows as they come; a file is only made when there are some. */
function rejectsTo(path: string | null, format: FileFormat): Rejects {
  let columns: readonly string[] = [];
  let rows: PassThrough | null = null;
  let written: Promise<void> = Promise.resolve();
  return {
    begin: (names) => void (columns = names),
    add: async (rejected) => {
      if (path === null) return;
      if (rows === null) {
        rows = new PassThrough({ objectMode: true });
        written = pipeline(rejectedFile(rows, { format, columns }), createWriteStream(path));
      }
      for (const row of rejected) {
        if (!rows.write(row)) await Promise.race([new Promise((resolve) => rows?.once('drain', resolve)), written]);
      }
    },
    end: async () => {
      rows?.end();
      await written;
    },
  };
}

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${CATALOG_USAGE}`);
  }
}

async function mustExist(file: string): Promise<void> {
  try {
    await access(file);
  } catch (error) {
    throw new UsageError(`There is no file ${JSON.stringify(file)} that can be read.`, { cause: error });
  }
}

/** For the bar; a quoted line break counts as a row, which only makes the bar a little late. */
async function countLines(file: string): Promise<number> {
  let lines = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>)
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1;
  return lines;
}
