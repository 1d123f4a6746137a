import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { costOf, unfitReason, type ProviderCode, type ProviderRules } from '#payments';
import { Problem } from '#problems';
import { FairSlots, newIdOf } from '#runtime';
import { keepFile } from '../../goods/sheets/keep-file.js';
import { ScratchFolders } from '../../goods/sheets/scratch-folders.js';
import { UnreadableFile } from '../../goods/sheets/sheet-row.js';
import { ProviderAccounts } from '../accounts/provider-accounts.js';
import { PaymentRouting } from '../routing/payment-routing.js';
import { DEFAULT_FORMS } from './default-forms.js';
import {
  judgeDays,
  judgePayment,
  judgeUnknown,
  type Difference,
  type KnownPayment,
  type NamedPayment,
  type Period,
} from './judge-payment.js';
import { readRegister, type ReadRegister } from './read-register.js';
import type { RegisterEntry } from './register-rows.js';
import { SettlementDays } from './settlement-days.js';
import {
  MAX_DIFFERENCES,
  SettlementRepository,
  type NewSettlement,
  type SettlementRow,
  type TakenPayment,
} from './settlement.repository.js';

export interface SentRegister {
  merchantId: string;
  accountId: string;
  period: Period;
  format: 'csv' | 'xlsx';
  body: Readable;
}

const MAX_FILE_BYTES = 64 * 1024 ** 2;
const AT_ONCE = 500;
/** Registers that are read and compared at the same time, each of up to 100 000 rows in memory. */
const READERS = { total: 3, perKey: 1 };

/** Holds a provider's register against payments and receipts. It changes nothing: what differs is a person's. */
@Injectable()
export class CompareRegister {
  private readonly readers = new FairSlots(READERS);

  constructor(
    private readonly settlements: SettlementRepository,
    private readonly accounts: ProviderAccounts,
    private readonly routing: PaymentRouting,
    private readonly scratch: ScratchFolders,
  ) {}

  /** @throws Problem import_busy, import_unreadable, payload_too_large; 404; 410 */
  async execute(sent: SentRegister): Promise<SettlementRow> {
    const { provider } = await this.accounts.find(sent.merchantId, sent.accountId);
    const release = this.readers.tryTake(sent.merchantId);
    if (!release) throw new Problem('import_busy');
    try {
      const register = await this.read(sent, provider as ProviderCode);
      const made = await this.settlements.whileWhole(sent.accountId, sent.period, () =>
        this.compare(sent, provider as ProviderCode, register),
      );
      return await this.settlements.store(made);
    } catch (error) {
      if (error instanceof UnreadableFile) throw new Problem('import_unreadable', error.message, { cause: error });
      throw error;
    } finally {
      release();
    }
  }

  private async read({ merchantId, format, body }: SentRegister, provider: ProviderCode): Promise<ReadRegister> {
    const form = (await this.settlements.form(merchantId, provider)) ?? DEFAULT_FORMS[provider];
    const folder = await this.scratch.make();
    try {
      const path = join(folder, 'file');
      await keepFile(body, path, MAX_FILE_BYTES);
      return await readRegister({ path, format, scratch: folder }, form);
    } finally {
      await this.scratch.remove(folder);
    }
  }

  private async compare(sent: SentRegister, provider: ProviderCode, register: ReadRegister): Promise<NewSettlement> {
    const { merchantId, accountId, period, format } = sent;
    const days = new SettlementDays(period);
    const found = new FoundDifferences(days);
    const rules = await this.routing.find(merchantId);
    for (const { number, reason } of register.unreadable) found.add(unreadable(number, reason));
    const named = new NamedPayments();
    for (let at = 0; at < register.entries.length; at += AT_ONCE) {
      const entries = register.entries.slice(at, at + AT_ONCE);
      const known = new KnownPayments(await this.settlements.paymentsOf(accountId, refsOf(entries)));
      for (const entry of entries) {
        const payment = known.of(entry);
        entry.rows.forEach((row) => days.theirs(row));
        judgeDays(entry, payment, period).forEach((each) => found.add(each));
        if (payment) named.add(payment, entry);
        else found.add(judgeUnknown(entry));
      }
    }
    for (const each of named.all())
      judgePayment(each, expectedCost(rules, provider, each.payment)).forEach((every) => found.add(every));
    for await (const payments of this.settlements.taken(accountId, period)) {
      for (const payment of payments) {
        days.ours(payment);
        // What has wholly gone back a provider may leave out.
        if (named.isCharged(payment.id) || payment.refunded_tiyin >= payment.amount_tiyin) continue;
        found.add(missing(payment));
      }
    }
    const { rows, leftOut } = register;
    const report = { rows, left_out: leftOut, differences: found.counts, days: days.list() };
    const id = newIdOf('stl', merchantId);
    return { id, merchantId, accountId, provider, format, period, report, differences: found.first };
  }
}

/** All are counted, the first are kept. */
class FoundDifferences {
  readonly counts: Partial<Record<Difference['kind'], number>> = {};
  readonly first: Difference[] = [];

  constructor(private readonly days: SettlementDays) {}

  add(difference: Difference): void {
    this.counts[difference.kind] = (this.counts[difference.kind] ?? 0) + 1;
    this.days.differ(difference);
    if (this.first.length < MAX_DIFFERENCES) this.first.push(difference);
  }
}

/** Judged when the whole register is read: rows of one payment may stand anywhere in it. */
class NamedPayments {
  private readonly byKey = new Map<string, NamedPayment>();

  add(payment: KnownPayment, entry: RegisterEntry): void {
    const key = `${payment.id} ${payment.extra_ref ?? ''}`;
    const known = this.byKey.get(key);
    if (known) known.entries.push(entry);
    else this.byKey.set(key, { payment, entries: [entry] });
  }

  all(): Iterable<NamedPayment> {
    return this.byKey.values();
  }

  /** A row that says only that money went back does not say that it was taken. */
  isCharged(id: string): boolean {
    return this.byKey.get(`${id} `)?.entries.some(({ payments }) => payments > 0) === true;
  }
}

class KnownPayments {
  private readonly byRef = new Map<string, KnownPayment>();
  private readonly byOurs = new Map<string, KnownPayment>();

  constructor(payments: readonly KnownPayment[]) {
    for (const payment of payments) {
      const ref = payment.extra_ref ?? payment.provider_ref;
      if (ref !== null) this.byRef.set(ref, payment);
      if (payment.extra_ref !== null) continue;
      this.byOurs.set(payment.id, payment);
      this.byOurs.set(String(payment.number), payment);
    }
  }

  /** By the provider's id first: of two charges of one order it says which. */
  of({ providerRef, ourRef }: RegisterEntry): KnownPayment | null {
    const byRef = providerRef === null ? undefined : this.byRef.get(providerRef);
    return byRef ?? (ourRef === null ? null : (this.byOurs.get(ourRef) ?? null));
  }
}

function refsOf(entries: readonly RegisterEntry[]): { providerRefs: string[]; ourRefs: string[] } {
  const texts = (of: (entry: RegisterEntry) => string | null): string[] => entries.flatMap((entry) => of(entry) ?? []);
  return { providerRefs: texts(({ providerRef }) => providerRef), ourRefs: texts(({ ourRef }) => ourRef) };
}

/** By the first of the merchant's rules that says what this provider keeps of such a sum. */
function expectedCost({ rules }: ProviderRules, provider: ProviderCode, payment: KnownPayment): bigint | null {
  const amountTiyin = Number(payment.amount_tiyin);
  const priced = rules.filter((rule) => rule.provider === provider && hasCost(rule));
  // Which card it was is not kept: a rule of cards may be another payment's.
  const rule = priced.find((each) => unfitReason(each, { amountTiyin, cardRange: null }) === null);
  return rule ? costOf(rule, amountTiyin) : null;
}

function hasCost({ cost_basis_points: points, cost_fixed: fixed }: ProviderRules['rules'][number]): boolean {
  return points !== undefined || fixed !== undefined;
}

function missing(payment: TakenPayment): Difference {
  return {
    ...{ kind: 'missing', day: payment.day, paymentId: payment.id, receiptId: payment.receipt_id },
    ...{ providerRef: payment.provider_ref, row: null, oursTiyin: Number(payment.amount_tiyin), theirsTiyin: null },
    detail: 'The register does not name it.',
  };
}

function unreadable(row: number, reason: string): Difference {
  const none = { day: null, paymentId: null, receiptId: null, providerRef: null, oursTiyin: null, theirsTiyin: null };
  return { kind: 'unreadable', ...none, row, detail: reason };
}
