import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { notFound } from '../../http/own-id.js';
import { pageOf, pageRequest, type Page } from '../../http/paging.js';
import type { ClientQuery } from './client-bodies.js';
import { clientView, type ClientView } from './client-view.js';

/** The merchant's clients as they are. */
@Injectable()
export class Clients {
  constructor(private readonly prisma: PrismaService) {}

  async list(merchantId: string, query: ClientQuery): Promise<Page<ClientView>> {
    const { limit, afterId } = pageRequest(query, 'cli');
    const rows = await this.prisma.oauthClient.findMany({
      where: {
        merchantId,
        ...(afterId !== null && { id: { gt: afterId } }),
        ...(query.disabled !== 'true' && { disabledAt: null }),
      },
      orderBy: { id: 'asc' },
      take: limit + 1,
    });
    return pageOf(rows, limit, clientView);
  }

  /** @throws Problem 404 */
  async get(merchantId: string, id: string): Promise<ClientView> {
    const row = await this.prisma.oauthClient.findFirst({ where: { id, merchantId } });
    if (!row) throw notFound('client');
    return clientView(row);
  }

  /** Whose client it is, and what it may, for those who are no merchant themselves; null: there is none. */
  find(id: string): Promise<{ merchantId: string; scopes: string[] } | null> {
    return this.prisma.oauthClient.findFirst({ where: { id }, select: { merchantId: true, scopes: true } });
  }
}
