import { Readable } from 'node:stream';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { ListReads, PageReader, type PageReaderOptions, type PrismaService } from '#database';
import type { ReceiptRow } from '#ledger';
import { Problem } from '#problems';
import { FairSlots, type Logger } from '#runtime';
import { receiptView, type ReceiptView } from '../receipt-view.js';
import { ReceiptUrls } from '../receipt-url.js';
import { csvLine } from '../../goods/sheets/csv.js';
import { TextBuffers, textStream } from '../../goods/sheets/text-buffers.js';
import { SheetText, xlsxWorkbook, type Cell, type SheetPiece } from '../../goods/sheets/xlsx-writer.js';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { LOGGER } from '../../tokens.js';
import type { ReceiptFilter } from './receipt-filter.js';
import type { ExportFormat, ExportQuery } from './receipt-query.js';
import { ascendingPageStatement, expectAllHere, pageStatement, type PageEnd } from './search-receipts.js';
import { cellsOf, COLUMNS } from './spreadsheet-cells.js';

/** At the same time in this process: each holds a connection for as long as its reader takes. */
const EXPORTS = { total: 6, perKey: 2 };
/** Receipts in memory per export; one may have 500 lines. */
const PAGE_SIZE = 200;
/** A reader that takes nothing for so long has gone. */
const IDLE_TIMEOUT_MS = 120_000;
/** A page may have to sort what the filter finds. */
const STATEMENT_TIMEOUT_MS = 60_000;
/** Marks the file as UTF-8 for Excel. */
const BYTE_ORDER_MARK = '\uFEFF';
const HEAD = COLUMNS.map(({ name }) => name);
const CSV_HEAD = Buffer.from(BYTE_ORDER_MARK + csvLine(HEAD));

/** By whom, and in which words. */
interface Asked {
  caller: Caller;
  query: ExportQuery;
}

/**
 * GET /v1/receipts/export: everything that a filter finds, oldest first, up to the newest at the beginning, in flat memory whatever its
 * size: a page is read when the one before has been taken, and shows its receipts as they are then. Whatever ends the stream ends
 * the connection behind it.
 */
@Injectable()
export class ExportReceipts implements OnModuleDestroy {
  private readonly running = new Set<Readable>();
  private readonly slots = new FairSlots(EXPORTS);

  constructor(
    private readonly reads: ListReads,
    private readonly urls: ReceiptUrls,
    private readonly changes: AuditedChange,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * The first page is there when this resolves: what can go wrong with the query is answered as a problem. What a person takes away stands on
   * the merchant's trail by then: receipts name buyers. A client of the API, which may ask every minute, leaves no record.
   */
  async open(filter: ReceiptFilter, format: ExportFormat, asked: Asked): Promise<Readable> {
    const release = this.slots.tryTake(filter.merchantId);
    if (!release) {
      throw new Problem('too_many_requests', 'Too many exports are running; try again later.', {
        retryAfterSeconds: 10,
      });
    }
    try {
      const stream = await this.begin(filter, format);
      if (isPerson(asked.caller)) await this.record(stream, asked);
      stream.once('close', release);
      return stream;
    } catch (error) {
      release();
      throw error;
    }
  }

  /** @throws Problem without a record nothing is handed out */
  private async record(stream: Readable, { caller, query }: Asked): Promise<void> {
    const taken = { action: 'receipts.export', targetId: caller.merchantId, before: null, after: { ...query } };
    try {
      await this.changes.execute(caller, () => Promise.resolve({ result: null, ...taken }));
    } catch (error) {
      stream.destroy();
      throw error;
    }
  }

  /** Cuts all exports off: the process is about to end. */
  abortAll(): void {
    for (const stream of this.running) stream.destroy(new Error('the gateway is shutting down'));
  }

  onModuleDestroy(): void {
    this.abortAll();
  }

  private async begin(filter: ReceiptFilter, format: ExportFormat): Promise<Readable> {
    // All pages come from where the first one came from.
    const { reader, stream } = await this.reads.read((database, url) =>
      this.openStream({ database, url }, filter, format),
    );
    this.running.add(stream);
    // Also while nothing asks for the next page: a reader that has stopped must not keep its place.
    reader.onLost((error) => stream.destroy(error));
    stream.once('error', (error) => this.logger.info({ err: error }, 'an export was cut off'));
    stream.once('close', () => {
      this.running.delete(stream);
      void reader.close();
    });
    return stream;
  }

  /** Resolves when the first page is there. */
  private async openStream(
    from: { database: PrismaService; url: string },
    filter: ReceiptFilter,
    format: ExportFormat,
  ): Promise<{ reader: PageReader<ReceiptRow>; stream: Readable }> {
    const reader = await openReader(from, filter);
    try {
      const endsWhole = (): Promise<void> => expectAllHere(from.database, filter);
      return { reader, stream: await this.streamOf({ reader, endsWhole }, format) };
    } catch (error) {
      await reader.close();
      throw error;
    }
  }

  private async streamOf(pages: Pages, format: ExportFormat): Promise<Readable> {
    const viewOf = (row: ReceiptRow): ReceiptView => receiptView(row, this.urls.urlOf(row.id));
    const cells = (row: ReceiptRow): Cell[] => cellsOf(row, this.urls.urlOf(row.id));
    switch (format) {
      case 'ndjson':
        return textStream(await opened(pages, () => linesOf((row) => `${JSON.stringify(viewOf(row))}\n`)));
      case 'csv':
        return textStream(await opened(pages, () => linesOf((row) => csvLine(cells(row)))), CSV_HEAD);
      case 'xlsx':
        return xlsxWorkbook(await opened(pages, () => sheetOf(cells)), { head: HEAD });
    }
  }
}

function isPerson({ sessionId }: Caller): boolean {
  return sessionId !== undefined && sessionId !== null;
}

async function openReader(
  { database, url }: { database: PrismaService; url: string },
  filter: ReceiptFilter,
): Promise<PageReader<ReceiptRow>> {
  const options: PageReaderOptions = {
    ...{ databaseUrl: url, applicationName: 'gateway-export', pageSize: PAGE_SIZE },
    ...{ idleTimeoutMs: IDLE_TIMEOUT_MS, statementTimeoutMs: STATEMENT_TIMEOUT_MS },
  };
  const [newest] = await database.queryPlanned<ReceiptRow>(pageStatement(filter, { after: null, since: null }, 1));
  // Nothing is found; what comes in the meantime is newer than the beginning.
  const last: PageEnd = newest ? endOf(newest) : { id: '', registeredAt: new Date(0) };
  return PageReader.open<ReceiptRow>(options, (after, limit) =>
    ascendingPageStatement(filter, { after: after && endOf(after), last }, limit),
  );
}

/** Of one export. */
interface Pages {
  reader: PageReader<ReceiptRow>;
  /** @throws Problem 410 where receipts of its time, or the one that it names, have left */
  endsWhole: () => Promise<void>;
}

/** Takes rows one by one, each bytes at once; what it has made of them so far is handed out once. */
interface Batch<Made> {
  add: (row: ReceiptRow) => void;
  take: () => Made;
}

function linesOf(lineOf: (row: ReceiptRow) => string): Batch<Buffer[]> {
  const text = new TextBuffers();
  return { add: (row) => text.add(lineOf(row)), take: () => text.take() };
}

function sheetOf(cellsOfRow: (row: ReceiptRow) => Cell[]): Batch<SheetPiece> {
  const text = new SheetText();
  return { add: (row) => text.add(cellsOfRow(row)), take: () => text.take() };
}

/** All pages; the first one is there when this resolves, so that a query that fails is a problem and no half file. */
async function opened<Made>({ reader, endsWhole }: Pages, newBatch: () => Batch<Made>): Promise<AsyncGenerator<Made>> {
  const read = async (): Promise<Made | null> => {
    const batch = newBatch();
    return (await reader.next(batch.add)) === 0 ? null : batch.take();
  };
  const first = await read();
  return batchesOf({ reader, endsWhole }, first, read);
}

async function* batchesOf<Made>(
  { reader, endsWhole }: Pages,
  first: Made | null,
  read: () => Promise<Made | null>,
): AsyncGenerator<Made> {
  try {
    for (let batch = first; batch !== null; batch = await read()) yield batch;
    // What has left for an archive meanwhile is missing in it: it ends as one that was cut off.
    await endsWhole();
  } finally {
    await reader.close();
  }
}

function endOf({ id, registered_at: registeredAt }: ReceiptRow): PageEnd {
  return { id, registeredAt };
}
