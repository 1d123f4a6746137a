import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Answers } from '#runtime';
import { callerOfRequest } from '../../audit/caller.js';
import { CurrentClient, type AuthenticatedClient } from '../../http/current-client.js';
import type { Page } from '../../http/paging.js';
import { OwnTurn, Scopes } from '../../http/scopes.js';
import type { ReceiptView } from '../receipt-view.js';
import { ExportReceipts } from './export-receipts.js';
import { ExportQuery, ReceiptQuery, type ExportFormat } from './receipt-query.js';
import { SearchReceipts } from './search-receipts.js';

const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const MEDIA_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson',
  xlsx: XLSX,
};

@Controller('v1/receipts')
@Scopes('receipts:read')
export class SearchController {
  constructor(
    private readonly receipts: SearchReceipts,
    private readonly exports: ExportReceipts,
  ) {}

  @Get()
  list(@CurrentClient() client: AuthenticatedClient, @Query() query: ReceiptQuery): Promise<Page<ReceiptView>> {
    return this.receipts.page(client.merchantId, query);
  }

  @OwnTurn()
  @Get('export')
  @Answers({ statuses: [200], mediaTypes: ['application/x-ndjson', 'text/csv', XLSX] })
  async export(
    @CurrentClient() client: AuthenticatedClient,
    @Query() query: ExportQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { format = 'ndjson' } = query;
    const filter = await this.receipts.filterOf(client.merchantId, query);
    const asked = { caller: callerOfRequest(request), query };
    const stream = request.method === 'HEAD' ? '' : await this.exports.open(filter, format, asked);
    void reply.headers({
      'content-type': MEDIA_TYPES[format],
      'content-disposition': `attachment; filename="receipts.${format}"`,
      'cache-control': 'no-store',
    });
    await reply.send(stream);
  }
}
