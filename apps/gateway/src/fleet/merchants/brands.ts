import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { Problem } from '#problems';
import { sha256 } from '#runtime';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import type { BrandBody } from './merchant-bodies.js';
import { logoSize, readLogo } from './logo.js';

export interface BrandView {
  /** Above the seller's name. */
  header: string;
  /** Below everything else. */
  footer: string;
  /** PNG in base64; null: none. */
  logo: string | null;
  logo_width: number | null;
  logo_height: number | null;
}

interface StoredBrand {
  header: string;
  footer: string;
  logo: Uint8Array<ArrayBuffer> | null;
}

const NONE: StoredBrand = { header: '', footer: '', logo: null };

/** What stands on a merchant's receipts beside what the law asks for. */
@Injectable()
export class Brands {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
  ) {}

  async get(merchantId: string): Promise<BrandView> {
    return brandView((await this.prisma.merchantBrand.findFirst({ where: { merchantId } })) ?? NONE);
  }

  /** What is left out stays. @throws Problem 422 for a logo that is no picture, or too large */
  async change(caller: Caller, body: BrandBody): Promise<BrandView> {
    const { merchantId } = caller;
    const given = body.logo === undefined ? undefined : body.logo === null ? null : checkedLogo(body.logo);
    return this.changes.execute(caller, async (tx) => {
      await tx.$queryRaw`SELECT id FROM merchants WHERE id = ${merchantId} FOR NO KEY UPDATE`;
      const before = (await tx.merchantBrand.findUnique({ where: { merchantId } })) ?? NONE;
      const logo = given === undefined ? before.logo : given;
      const after = { header: body.header ?? before.header, footer: body.footer ?? before.footer, logo };
      const update = { ...after, updatedAt: new Date() };
      await tx.merchantBrand.upsert({ where: { merchantId }, create: { merchantId, ...after }, update });
      const trail = { action: 'merchant.brand', targetId: merchantId, before: audited(before), after: audited(after) };
      return { result: brandView(after), ...trail };
    });
  }
}

function checkedLogo(base64: string): Uint8Array<ArrayBuffer> {
  const reading = readLogo(Buffer.from(base64, 'base64'));
  if (reading.kind === 'ok') return new Uint8Array(reading.png);
  throw Problem.at('/logo', 'invalid_value', `logo ${reading.reason}`);
}

function brandView({ header, footer, logo }: StoredBrand): BrandView {
  const size = logo && logoSize(logo);
  return {
    ...{ header, footer, logo: logo && Buffer.from(logo).toString('base64') },
    ...{ logo_width: size?.width ?? null, logo_height: size?.height ?? null },
  };
}

/** For the trail: which picture it was, not the picture. */
function audited({ header, footer, logo }: StoredBrand): Record<string, unknown> {
  return { header, footer, logo_sha256: logo && sha256(logo).toString('hex') };
}
