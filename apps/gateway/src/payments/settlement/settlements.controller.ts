import type { Readable } from 'node:stream';
import { Body, Controller, Get, Param, Post, Put, Query, Req } from '@nestjs/common';
import { ArrayMaxSize, IsArray, IsIn, IsString, Matches, MaxLength } from 'class-validator';
import type { FastifyRequest } from 'fastify';
import { AcceptsFile, FILE_MEDIA_TYPES } from '#http';
import { isProvider, type ProviderCode } from '#payments';
import { Problem } from '#problems';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { IsCleanText } from '../../http/body-constraints.js';
import { IsGivenOrAbsent, IsNested } from '../../http/body-rules.js';
import { notFound, ownId } from '../../http/own-id.js';
import { limitOf, pageBy, pageOf, PageQuery, pageRequest, strangeCursor, type Page } from '../../http/paging.js';
import { Scopes } from '../../http/scopes.js';
import { CompareRegister } from './compare-register.js';
import type { Period } from './judge-payment.js';
import { realDay } from './register-cells.js';
import { REGISTER_FIELDS, type RegisterField } from './register-form.js';
import { SettlementForms, type FormView } from './settlement-forms.js';
import { SettlementRepository, type SettlementRow } from './settlement.repository.js';
import { differenceView, settlementView, type DifferenceView, type SettlementView } from './settlement-view.js';

const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** A register of a month; a year would be compared with a year of payments. */
const MAX_DAYS = 31;
const MS_PER_DAY = 86_400_000;

class SettlementQuery {
  /** The account whose provider has made the register. */
  @IsString()
  @MaxLength(64)
  account_id!: string;

  /** First day of the register, in Tashkent. */
  @Matches(DAY)
  from!: string;

  /** Last day, included. */
  @Matches(DAY)
  to!: string;
}

class ColumnsBody {
  @IsGivenOrAbsent()
  @IsHeadings()
  provider_ref?: string[];

  @IsGivenOrAbsent()
  @IsHeadings()
  our_ref?: string[];

  @IsHeadings()
  amount!: string[];

  @IsGivenOrAbsent()
  @IsHeadings()
  commission?: string[];

  @IsGivenOrAbsent()
  @IsHeadings()
  refunded?: string[];

  @IsHeadings()
  time!: string[];

  @IsGivenOrAbsent()
  @IsHeadings()
  kind?: string[];

  @IsGivenOrAbsent()
  @IsHeadings()
  status?: string[];

  /** When it was cancelled: a row that has something there is left out. */
  @IsGivenOrAbsent()
  @IsHeadings()
  cancelled?: string[];
}

class FormBody {
  /** What the columns are called: any of the names, without regard to case. */
  @IsNested(() => ColumnsBody)
  columns!: ColumnsBody;

  @IsIn(['som', 'tiyin'])
  amount_unit!: 'som' | 'tiyin';

  /** What stands in `kind` or `status` of money that went back. */
  @IsHeadings()
  refund_words!: string[];

  /** Rows with another `status` are left out; empty: all count. */
  @IsHeadings()
  paid_words!: string[];
}

/** Few and short: each row is held against them. */
function IsHeadings(): PropertyDecorator {
  return (target, name) => {
    const list = [IsArray(), ArrayMaxSize(30), IsString({ each: true }), MaxLength(100, { each: true })];
    for (const rule of [...list, IsCleanText({ each: true })]) rule(target, name);
  };
}

/** Registers of payment providers, held against payments and receipts day by day. */
@Controller('v1')
export class SettlementsController {
  constructor(
    private readonly comparing: CompareRegister,
    private readonly settlements: SettlementRepository,
    private readonly forms: SettlementForms,
  ) {}

  /** The body is the file, CSV or XLSX; its media type says which. Nothing of payments or receipts is changed by it. */
  @Post('settlements')
  @Scopes('payments:write')
  @AcceptsFile()
  async create(
    @CurrentCaller() { merchantId }: Caller,
    @Query() { account_id: account, from, to }: SettlementQuery,
    @Req() request: FastifyRequest,
  ): Promise<SettlementView> {
    const accountId = ownId('pac', account, 'provider account');
    const period = periodOf(from, to);
    const format = formatOf(request.headers['content-type']);
    const body = request.body as Readable | null | undefined;
    if (!body) throw Problem.at('', 'required', 'The body must be the file.');
    return settlementView(await this.comparing.execute({ merchantId, accountId, period, format, body }));
  }

  /** The newest first. */
  @Get('settlements')
  @Scopes('payments:read')
  async list(@CurrentCaller() { merchantId }: Caller, @Query() query: PageQuery): Promise<Page<SettlementView>> {
    const request = pageRequest(query, 'stl');
    return pageOf(await this.settlements.page(merchantId, request), request.limit, settlementView);
  }

  @Get('settlements/:id')
  @Scopes('payments:read')
  async read(@CurrentCaller() { merchantId }: Caller, @Param('id') id: string): Promise<SettlementView> {
    return settlementView(await this.find(merchantId, id));
  }

  /** In the order in which they were found. The first 2 000 are kept; the settlement counts all. */
  @Get('settlements/:id/differences')
  @Scopes('payments:read')
  async differences(
    @CurrentCaller() { merchantId }: Caller,
    @Param('id') id: string,
    @Query() query: PageQuery,
  ): Promise<Page<DifferenceView>> {
    const { id: found } = await this.find(merchantId, id);
    const limit = limitOf(query);
    const rows = await this.settlements.differences(found, numberOf(query.cursor), limit + 1);
    return pageBy(rows, limit, differenceView, ({ number }) => String(number));
  }

  /** How registers of this provider are read: the merchant's own form, or the default. */
  @Get('settlement-forms/:provider')
  @Scopes('payments:read')
  form(@CurrentCaller() { merchantId }: Caller, @Param('provider') provider: string): Promise<FormView> {
    return this.forms.find(merchantId, known(provider));
  }

  @Put('settlement-forms/:provider')
  @Scopes('payments:write')
  replaceForm(
    @CurrentCaller() caller: Caller,
    @Param('provider') provider: string,
    @Body() { columns, ...form }: FormBody,
  ): Promise<FormView> {
    const given = REGISTER_FIELDS.flatMap((field): [RegisterField, string[]][] => {
      const names = columns[field];
      return names === undefined ? [] : [[field, names]];
    });
    return this.forms.replace(caller, known(provider), { ...form, columns: Object.fromEntries(given) });
  }

  private async find(merchantId: string, id: string): Promise<SettlementRow> {
    const row = await this.settlements.find(merchantId, ownId('stl', id, 'settlement'));
    if (!row) throw notFound('settlement');
    return row;
  }
}

/** @throws Problem 404 */
function known(provider: string): ProviderCode {
  if (!isProvider(provider)) throw notFound('payment provider');
  return provider;
}

/** @throws Problem 422 */
function periodOf(from: string, to: string): Period {
  const faults = Object.entries({ from, to }).flatMap(([name, day]) =>
    realDay(day) === null
      ? [{ pointer: `/${name}`, code: 'invalid_format' as const, detail: 'must be a day, YYYY-MM-DD' }]
      : [],
  );
  if (faults.length > 0) throw Problem.fromErrors(faults);
  const days = (Date.parse(to) - Date.parse(from)) / MS_PER_DAY + 1;
  if (days >= 1 && days <= MAX_DAYS) return { from, to };
  const detail = `A register is of 1 to ${MAX_DAYS} days: to must not be before from, nor a month later.`;
  throw Problem.at('/to', 'out_of_range', detail);
}

/** @throws Problem 415 */
function formatOf(contentType: string | undefined): 'csv' | 'xlsx' {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  const format = (['csv', 'xlsx'] as const).find((each) => FILE_MEDIA_TYPES[each] === mediaType);
  if (format) return format;
  throw new Problem('unsupported_media_type', `Send the file as ${FILE_MEDIA_TYPES.csv} or ${FILE_MEDIA_TYPES.xlsx}.`);
}

/** @throws Problem 422 */
function numberOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (!/^\d{1,6}$/.test(cursor)) throw strangeCursor();
  return Number(cursor);
}
