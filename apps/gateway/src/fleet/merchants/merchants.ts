import { Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import type { MessageChannel, MessageLanguage } from '#messages';
import { newId } from '#runtime';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { notFound } from '../../http/own-id.js';
import { given } from '../../http/given.js';
import { viewOfColumns } from '../../http/view-of-columns.js';
import { refuseTakenCode } from '../places/place-rules.js';
import type { PlatformMerchantBody } from '../platform/platform-bodies.js';
import type { MerchantPatch } from './merchant-bodies.js';
import {
  readMerchantSettings,
  type MerchantMode,
  type MerchantSettings,
  type UnsupportedFields,
} from './merchant-settings.js';

export interface MerchantView {
  id: string;
  code: string;
  name: string;
  tin: string;
  /** For ever: a sandbox's receipts are test receipts, and nothing of it reaches a real register or provider. */
  mode: MerchantMode;
  default_goods: { spic: string; package_code: string; units: number; vat_percent: number } | null;
  time_of_close: string | null;
  requirements: { external_id: boolean };
  unsupported_fields: UnsupportedFields;
  /** How buyers get receipts of sales that say nothing of it. */
  notify: { channels: MessageChannel[]; language: MessageLanguage | null };
  four_eyes: { unknown_above: number | null; provider_accounts: boolean };
  created_at: string;
}

type MerchantRow = Prisma.MerchantGetPayload<object>;

/** Taxpayers that sell through this installation. A merchant sees and changes itself; making one is the operator's. */
@Injectable()
export class Merchants {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
  ) {}

  async list(): Promise<MerchantView[]> {
    const rows = await this.prisma.merchant.findMany({ orderBy: { id: 'asc' } });
    return rows.map(merchantView);
  }

  /** @throws Problem 404 */
  async get(merchantId: string): Promise<MerchantView> {
    // Not findUnique: Prisma would join those of several merchants into one statement, which runs for one of them.
    const row = await this.prisma.merchant.findFirst({ where: { id: merchantId } });
    if (!row) throw notFound('merchant');
    return merchantView(row);
  }

  /** By id or code; null: there is none. */
  async find(idOrCode: string): Promise<MerchantView | null> {
    const row = await this.prisma.merchant.findFirst({ where: { OR: [{ id: idOrCode }, { code: idOrCode }] } });
    return row && merchantView(row);
  }

  /** @throws Problem 409 code_taken */
  async create(
    caller: Omit<Caller, 'merchantId'>,
    { mode = 'live', ...merchant }: Omit<PlatformMerchantBody, 'quotas'>,
  ): Promise<MerchantView> {
    const id = newId(mode === 'sandbox' ? 'mer_test' : 'mer');
    const settings = { ...readMerchantSettings({}) };
    return refuseTakenCode(
      this.changes.execute({ ...caller, merchantId: id }, async (tx) => {
        const view = merchantView(await tx.merchant.create({ data: { id, mode, ...merchant, settings } }));
        return { result: view, action: 'merchant.create', targetId: id, before: null, after: view };
      }),
    );
  }

  /** @throws Problem 404 */
  async change(caller: Caller, patch: MerchantPatch): Promise<MerchantView> {
    const { merchantId: id } = caller;
    return this.changes.execute(caller, async (tx) => {
      await tx.$queryRaw`SELECT id FROM merchants WHERE id = ${id} FOR NO KEY UPDATE`;
      const row = await tx.merchant.findUnique({ where: { id } });
      if (!row) throw notFound('merchant');
      const settings = { ...changed(readMerchantSettings(row.settings), patch) };
      const data = { ...given({ name: patch.name }), settings };
      const view = merchantView(await tx.merchant.update({ where: { id }, data }));
      return { result: view, action: 'merchant.change', targetId: id, before: merchantView(row), after: view };
    });
  }
}

function changed(settings: MerchantSettings, patch: MerchantPatch): MerchantSettings {
  const { default_goods, time_of_close, unsupported_fields, requirements = {}, notify = {}, four_eyes = {} } = patch;
  return {
    ...settings,
    ...given({ default_goods: default_goods && { ...default_goods }, time_of_close, unsupported_fields }),
    requirements: { ...settings.requirements, ...given(requirements) },
    notify: { ...settings.notify, ...given(notify) },
    four_eyes: { ...settings.four_eyes, ...given(four_eyes) },
  };
}

function merchantView(row: MerchantRow): MerchantView {
  const columns = viewOfColumns(row, 'id', 'code', 'name', 'tin', 'mode', 'createdAt');
  return { ...columns, ...readMerchantSettings(row.settings) };
}
