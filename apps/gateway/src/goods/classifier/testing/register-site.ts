import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { xlsxStream, type Cell } from '../../sheets/xlsx-writer.js';

export interface SiteRow {
  spic: string;
  ru: string;
  uz: string;
  /** A row of the workbook per package. */
  packages: { code: string; name: string }[];
  marked: boolean;
  cash: boolean;
}

/** One answer of the site that is none of its own. */
export type Trouble = 'error' | 'html' | 'cut' | 'repeat' | 'hang';

/**
 * The public pages of the classification register, in their shapes as far as they are known, with content of our own making.
 */
export class RegisterSite {
  rows: SiteRow[] = [];
  inactive: string[] = [];
  /** Pages of the change feed. */
  changes: Record<string, unknown>[][] = [];
  /** What the next requests meet, one each. */
  troubles: Trouble[] = [];
  readonly asked: string[] = [];
  private readonly hanging: (() => void)[] = [];
  private server: Server | undefined;
  private port = 0;

  async start(): Promise<void> {
    this.server = createServer((request, response) => void this.answer(request, response));
    await new Promise<void>((resolve) => this.server?.listen(0, '127.0.0.1', resolve));
    this.port = (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }

  /** Answers those that met `hang` as if nothing had been. */
  release(): void {
    for (const answer of this.hanging.splice(0)) answer();
  }

  get fullUrl(): string {
    return `${this.base}/excel/get/category?lang={lang}`;
  }

  get inactiveUrl(): string {
    return `${this.base}/excel/get/inactive-mxik`;
  }

  get changesUrl(): string {
    return `${this.base}/integration-mxik/get/history/time?page={page}&size=2&lang=ru&startDate={start}&endDate={end}`;
  }

  private get base(): string {
    return `http://127.0.0.1:${this.port}/api/cls-api`;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.base);
    this.asked.push(`${url.pathname.split('/').at(-1)}${url.search}`);
    const trouble = this.troubles.shift();
    if (trouble === 'hang') await new Promise<void>((resolve) => this.hanging.push(resolve));
    if (trouble === 'error') return void response.writeHead(500).end('{"success":false}');
    if (trouble === 'html')
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sorry</html>');
    if (trouble === 'cut') {
      response.writeHead(200, { 'content-length': '1000000' }).write('PK');
      return void setImmediate(() => response.destroy());
    }
    if (url.pathname.endsWith('/category')) return this.sendRows(response, fullRows(this.rows, url.searchParams));
    if (url.pathname.endsWith('/inactive-mxik'))
      return this.sendRows(response, [['ИКПУ', 'Наименование'], ...this.inactive.map((spic) => [spic, 'x'])]);
    const page = trouble === 'repeat' ? 0 : Number(url.searchParams.get('page'));
    const answer = { success: true, code: 0, data: { content: this.changes[page] ?? [], number: page } };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  }

  private async sendRows(response: ServerResponse, rows: readonly (readonly Cell[])[]): Promise<void> {
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    await pipeline(xlsxStream(rows), response);
  }
}

function fullRows(rows: readonly SiteRow[], query: URLSearchParams): Cell[][] {
  const isRussian = query.get('lang') === 'ru';
  const head = isRussian
    ? ['№', 'ИКПУ', 'Наименование', 'Код упаковки', 'Упаковка', 'Маркировка', 'Продажа за наличные']
    : ['№', 'MXIK', 'Nomi', 'Qadoq kodi', 'Qadoq nomi', 'Markirovka', 'Naqd'];
  const yes = isRussian ? 'да' : 'ha';
  const no = isRussian ? 'нет' : 'yo‘q';
  const body = rows.flatMap((row) =>
    row.packages.map(({ code, name }, index) => [
      ...[index + 1, row.spic, isRussian ? row.ru : row.uz, code, name],
      ...[row.marked ? yes : no, row.cash ? yes : no],
    ]),
  );
  return [['Справочник', null], head, ...body];
}
