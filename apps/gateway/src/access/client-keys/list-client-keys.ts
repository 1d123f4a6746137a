import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { notFound } from '../../http/own-id.js';
import { pageOf, pageRequest, type Page, type PageQuery } from '../../http/paging.js';
import { clientKeyView, type ClientKeyView } from './client-key-view.js';

/** GET /v1/clients/{id}/keys, disabled ones too. */
@Injectable()
export class ListClientKeys {
  constructor(private readonly prisma: PrismaService) {}

  /** @throws Problem 404 */
  async execute(merchantId: string, clientId: string, query: PageQuery): Promise<Page<ClientKeyView>> {
    const { limit, afterId } = pageRequest(query, 'key');
    const client = await this.prisma.oauthClient.findFirst({
      where: { id: clientId, merchantId },
      select: { id: true },
    });
    if (!client) throw notFound('client');
    const rows = await this.prisma.clientKey.findMany({
      where: { clientId, ...(afterId !== null && { id: { gt: afterId } }) },
      omit: { secretSealed: true },
      orderBy: { id: 'asc' },
      take: limit + 1,
    });
    return pageOf(rows, limit, clientKeyView);
  }
}
