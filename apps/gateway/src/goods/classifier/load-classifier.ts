import { join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { sha256, type Clock } from '#runtime';
import { endsWithinLine, readLines } from '../sheets/lines.js';
import type { ScratchFolders } from '../sheets/scratch-folders.js';
import { UnreadableFile, type SheetRow } from '../sheets/sheet-row.js';
import { readXlsx } from '../sheets/xlsx-reader.js';
import { ApplyVersion } from './apply-version.js';
import { Drafts } from './drafts.js';
import {
  columnsOf,
  readEntryLine,
  readFeedItem,
  readWorkbookRow,
  type EntryPatch,
  type Reading,
} from './entry-patch.js';
import { fetchFile, fetchJson, SourceFailed } from './fetch-source.js';
import { ImportRuns, RunLost, type ImportKind, type ImportRun } from './import-runs.js';
import type { WrittenVersion } from './write-version.js';

export type LoadOutcome =
  | ({ kind: 'applied'; importId: number; rows: number; rejected: number } & WrittenVersion)
  | { kind: 'busy' }
  /** A person went back to an earlier version; only of unattended loads. */
  | { kind: 'held' }
  /** Nothing of it is in force. `resumable`: the same load again goes on where this one ended. */
  | { kind: 'failed'; importId: number; reason: string };

export interface LoadOptions {
  /** `share`: of the file that is read now, from 0 to 1; null = its length is unknown. */
  onProgress?: (progress: { rows: number; rejected: number; share: number | null }) => void;
  /** Pauses before a source is asked again, ms. */
  pausesMs?: readonly number[];
  /** Not requested by a person. */
  unattended?: boolean;
  /** A person has checked: the source may end suspiciously many codes. */
  allowsFewer?: boolean;
}

/** Small enough to be gone with the next collection of young objects: larger ones grow old, and memory with them. */
const ROWS_PER_BATCH = 500;
const MAX_SAMPLES = 20;
/** Rows above the headings of a workbook: titles and dates. */
const MAX_TITLE_ROWS = 30;
const MAX_PAGES = 20_000;
const DAY_MS = 86_400_000;
/** Some rows are always odd; more of them mean that the source has changed or is damaged. */
const REJECTED_AT_MOST_ONE_OF = 10;
/** Languages of the full export, as its URL names them. The first brings everything, the others names. */
const FULL_LANGUAGES = [
  { parameter: 'ru', language: 'ru' },
  { parameter: 'uz_latn', language: 'uz' },
] as const;

/**
 * Loads the classification register from its sources into drafts, and makes them a version when all of it was read. What is
 * `{lang}`, `{page}`, `{start}` and `{end}` in a source's URL is filled in.
 */
@Injectable()
export class LoadClassifier {
  constructor(
    private readonly runs: ImportRuns,
    private readonly drafts: Drafts,
    private readonly apply: ApplyVersion,
    private readonly clock: Clock,
    private readonly scratch: ScratchFolders,
  ) {}

  /** @param source a URL, or a file's path @throws only on a fault of our own */
  async execute(kind: ImportKind, source: string, options: LoadOptions = {}): Promise<LoadOutcome> {
    const { unattended = false, allowsFewer = false } = options;
    const claimed = await this.runs.claim(kind, source, { unattended });
    if (claimed.kind !== 'claimed') return claimed;
    const { run } = claimed;
    const folder = await this.scratch.make();
    try {
      return await this.runs.whileAlive(run, async () => {
        await new Load({ run, folder, runs: this.runs, drafts: this.drafts, clock: this.clock }, options).read();
        return appliedOutcome(run, await this.apply.execute({ run, kind, allowsFewer }));
      });
    } catch (error) {
      return await this.outcomeOf(run, error);
    } finally {
      await this.scratch.remove(folder);
    }
  }

  /** @throws only on a fault of our own */
  private async outcomeOf(run: ImportRun, error: unknown): Promise<LoadOutcome> {
    const reason = error instanceof Error ? error.message : String(error);
    // What was read and is wrong is read anew: going on with it would fail again, or hide what was left out.
    const applied = await this.runs.fail(run, reason, { isResumable: !(error instanceof UnreadableFile) });
    if (applied) return appliedOutcome(run, applied.written);
    if (!(error instanceof SourceFailed || error instanceof UnreadableFile || error instanceof RunLost)) throw error;
    return { kind: 'failed', importId: run.id, reason };
  }
}

function appliedOutcome({ id, progress }: ImportRun, written: WrittenVersion): LoadOutcome {
  const { rows, rejected } = progress;
  return { kind: 'applied', importId: id, rows, rejected, ...written };
}

interface LoadParts {
  run: ImportRun;
  folder: string;
  runs: ImportRuns;
  drafts: Drafts;
  clock: Clock;
}

/** One load under way. */
class Load {
  private patches: EntryPatch[] = [];
  private share: number | null = null;

  constructor(
    private readonly parts: LoadParts,
    private readonly options: LoadOptions,
  ) {}

  async read(): Promise<void> {
    const { kind, source } = this.parts.run;
    if (kind === 'changes') return this.readFeed(source);
    if (kind === 'full') return this.readWorkbooks(source);
    const path = await this.fileOf(source);
    if (kind === 'inactive') {
      await this.readWorkbook(path, 'ru', (patch) => ({ spic: patch.spic, name: {}, active: false }));
    } else {
      await this.readEntryLines(path);
    }
    this.refuseDamaged();
  }

  /** A file that was cut off ends within a line, or too early, which is noticed by the codes that it would end. */
  private async readEntryLines(path: string): Promise<void> {
    let last: Reading | null = null;
    for await (const row of readLines(path)) {
      last = this.lineOf(row);
      await this.take(row.number, last, true);
    }
    if (last?.kind === 'rejected' && (await endsWithinLine(path)))
      throw new UnreadableFile('The file ends within a line: it was cut off.');
    await this.flush(true);
  }

  /** A stage that was cut off is read again: adding the same twice changes nothing. */
  private async readWorkbooks(source: string): Promise<void> {
    const { run, drafts, runs } = this.parts;
    const stages = source.includes('{lang}') ? FULL_LANGUAGES : FULL_LANGUAGES.slice(0, 1);
    for (let stage = run.cursor?.stage ?? 0; stage < stages.length; stage += 1) {
      const { parameter, language } = stages[stage] ?? FULL_LANGUAGES[0];
      if (stage === 0) await drafts.clear(run.id);
      const path = await this.fileOf(source.replaceAll('{lang}', parameter));
      await this.readWorkbook(path, language, (patch) =>
        stage === 0 ? patch : { spic: patch.spic, name: patch.name },
      );
      run.cursor = { stage: stage + 1 };
      await runs.save(run);
    }
    this.refuseDamaged();
  }

  private async readWorkbook(
    path: string,
    language: 'ru' | 'uz',
    narrowed: (patch: EntryPatch) => EntryPatch,
  ): Promise<void> {
    let columns: ReturnType<typeof columnsOf> = null;
    let titles = 0;
    for await (const row of readXlsx(path, (share) => (this.share = share), this.parts.folder)) {
      if (columns) {
        if (row.cells.every((cell) => cell === null)) continue;
        const reading = readWorkbookRow(row, columns, language);
        await this.take(
          row.number,
          reading.kind === 'ok' ? { ...reading, patch: narrowed(reading.patch) } : reading,
          true,
        );
        continue;
      }
      columns = columnsOf(row);
      titles += 1;
      if (!columns && titles > MAX_TITLE_ROWS) break;
    }
    if (!columns) throw new UnreadableFile('The workbook has no column with the code (ИКПУ, MXIK).');
    await this.flush(true);
  }

  /**
   * Page by page from the last load in force, a day earlier for clocks that differ. A page that came before ends the load: the
   * feed is stuck, and what follows would never come. Of one code the newest change counts, in whatever order they come.
   */
  private async readFeed(source: string): Promise<void> {
    const { run, runs, clock } = this.parts;
    const start = run.cursor?.start ?? dateOf(((await runs.reachedAt())?.getTime() ?? clock.now().getTime()) - DAY_MS);
    const end = run.cursor?.end ?? dateOf(clock.now().getTime() + DAY_MS);
    const startMs = Date.parse(start);
    const seen = new Set<string>();
    const newestMs = new Map<string, number>();
    for (let page = run.cursor?.page ?? 0; page < MAX_PAGES; page += 1) {
      const url = source.replaceAll('{page}', String(page)).replaceAll('{start}', start).replaceAll('{end}', end);
      const items = itemsOf(await fetchJson(url, this.options.pausesMs));
      if (items.length === 0) return this.flush(false);
      const digest = sha256(JSON.stringify(items)).toString('hex');
      if (seen.has(digest)) throw new UnreadableFile(`The feed repeats page ${page}; nothing of it was taken over.`);
      seen.add(digest);
      for (const [index, item] of items.entries()) {
        const reading = readFeedItem(item);
        if (reading.kind === 'ok' && isOld(reading, startMs, newestMs)) continue;
        await this.take(page * items.length + index + 1, reading, false);
      }
      await this.flush(false);
      run.cursor = { page: page + 1, start, end };
      await runs.save(run);
    }
    throw new UnreadableFile('The feed does not end.');
  }

  private lineOf(row: SheetRow): Reading {
    if (row.faults.length > 0) return { kind: 'rejected', reason: row.faults.join('; ') };
    return readEntryLine(row.cells[0] ?? '');
  }

  private async take(number: number, reading: Reading, addPackages: boolean): Promise<void> {
    const { progress } = this.parts.run;
    if (reading.kind === 'rejected') {
      progress.rejected += 1;
      if (progress.samples.length < MAX_SAMPLES) progress.samples.push({ number, reason: reading.reason });
      return;
    }
    progress.rows += 1;
    this.patches.push(reading.patch);
    if (this.patches.length >= ROWS_PER_BATCH) await this.flush(addPackages);
  }

  private async flush(addPackages: boolean): Promise<void> {
    const { run, drafts, runs } = this.parts;
    const patches = this.patches;
    this.patches = [];
    if (patches.length === 0) return;
    await drafts.add(run.id, patches, { addPackages });
    await runs.save(run);
    const { rows, rejected } = run.progress;
    this.options.onProgress?.({ rows, rejected, share: this.share });
  }

  /** A file without a single code would end all of the register; one that is mostly unreadable is another kind of file. */
  private refuseDamaged(): void {
    const { rows, rejected } = this.parts.run.progress;
    if (rows === 0) throw new UnreadableFile('The file has no code of the register.');
    if (this.options.allowsFewer !== true && rejected > (rows + rejected) / REJECTED_AT_MOST_ONE_OF)
      throw new UnreadableFile(`${rejected} of its ${rows + rejected} rows cannot be read; nothing was taken over.`);
  }

  private async fileOf(source: string): Promise<string> {
    if (!/^https?:/.test(source)) return source;
    const path = join(this.parts.folder, 'source');
    await fetchFile(source, path, this.options.pausesMs);
    return path;
  }
}

/** Before the window, or older than what this load has of the same code. */
function isOld(reading: Reading & { kind: 'ok' }, startMs: number, newestMs: Map<string, number>): boolean {
  const { atMs, patch } = reading;
  if (atMs === null) return false;
  if (atMs < startMs - DAY_MS || atMs < (newestMs.get(patch.spic) ?? 0)) return true;
  newestMs.set(patch.spic, atMs);
  return false;
}

/** The list stands at different places of the answer. @throws SourceFailed */
function itemsOf(answer: unknown): unknown[] {
  let value = answer;
  for (let depth = 0; depth < 3; depth += 1) {
    if (Array.isArray(value)) return value as unknown[];
    if (typeof value !== 'object' || value === null) break;
    const source = value as Record<string, unknown>;
    value = source['content'] ?? source['data'] ?? source['recordList'];
  }
  throw new SourceFailed('The feed answered JSON without a list.');
}

function dateOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}
