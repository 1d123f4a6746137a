import {
  checkLocalReceipt,
  extensionProblem,
  localShapeProblem,
  type LocalReceiptRequest,
  type SaleResponse,
  type ShapeProblem,
} from '#fiscal-domain';
import type { GoodsLookup, VatRule } from '#fiscal-domain';
import {
  type FiscalModule,
  readDocument,
  type Refusal,
  refusedByModule,
  type Registration,
  requestHash,
} from '#fiscal-module';
import { inSpan } from '#runtime';
import type { Journal, JournalEntry } from '../journal/journal.js';
import type { Delivery } from '../ofd/delivery.js';
import type { ReceiptCourier } from '../ofd/receipt-courier.js';
import type { ReceiptIssuer } from './receipt-html.js';
import { AWAITS_RESEND, saleResponse, type SignedDocument } from './sale-response.js';

export type SaleOutcome =
  | { readonly kind: 'registered'; readonly response: SaleResponse; readonly replayed: boolean }
  | Refusal;

export interface RegisterReceiptParts {
  readonly module: FiscalModule;
  readonly journal: Journal;
  readonly courier: ReceiptCourier;
  readonly goods: GoodsLookup;
  readonly vatRule: VatRule;
  readonly issuer: () => ReceiptIssuer;
  /** Whether fields beyond the specification are read; else they are ignored as all unknown ones. */
  readonly extensions: boolean;
  /** E-001 and E-002: why nothing may be fiscalised at all; `null` when it may. */
  readonly barred: () => Refusal | null;
}

/** POST /receipts: checks, fiscalises, delivers. */
export class RegisterReceipt {
  /** Keys whose first call is still at work, with what its end can be waited for. */
  private readonly atWork = new Map<string, Promise<SaleOutcome>>();

  constructor(private readonly parts: RegisterReceiptParts) {}

  /**
   * @param body parsed JSON, not yet checked
   * @param key the Idempotency-Key. Only registrations are kept under it: after a refusal the same key may try again.
   */
  async execute(body: unknown, key: string | null): Promise<SaleOutcome> {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      return { kind: 'refused', code: 'S-003', message: 'the body must be a JSON object' };
    }
    if (key === null) return this.register(body, null);
    const request = body as Record<string, unknown>;
    // A call with a key at work waits for the first and then reads again: a refusal of the first is not its own.
    for (let first = this.atWork.get(key); first; first = this.atWork.get(key)) {
      await first.catch(() => undefined);
    }
    const known = this.parts.journal.findByKey(key);
    if (known) return this.replay(known, request);
    const work = this.register(request, key);
    this.atWork.set(key, work);
    try {
      return await work;
    } finally {
      this.atWork.delete(key);
    }
  }

  private replay(entry: JournalEntry, request: Readonly<Record<string, unknown>>): SaleOutcome {
    if (entry.requestHash !== requestHash(request)) {
      return {
        kind: 'refused',
        code: 'S-005',
        message: 'the Idempotency-Key was used for another document',
        details: { reason: 'idempotency_conflict', receiptSeq: entry.seq },
      };
    }
    return { kind: 'registered', response: this.journalResponse(entry), replayed: true };
  }

  /** The sale response of a document in the journal, with its delivery as it stands now. */
  journalResponse(entry: JournalEntry): SaleResponse {
    const unsent = this.parts.module.unsentReceipts().includes(entry.seq);
    const delivery = unsent ? ({ kind: 'unsent', error: AWAITS_RESEND } as const) : ({ kind: 'sent' } as const);
    return this.responseOf(entry, delivery);
  }

  private responseOf(document: SignedDocument, delivery: Delivery): SaleResponse {
    const { issuer, extensions } = this.parts;
    return saleResponse(document, { delivery, issuer: issuer(), extensions });
  }

  private async register(body: object, key: string | null): Promise<SaleOutcome> {
    const { module, journal, courier, extensions } = this.parts;
    const refused = this.parts.barred() ?? this.violation(body);
    if (refused) return refused;
    // Every field that is read from here on was checked just now.
    const document = readDocument(body as LocalReceiptRequest, { extensions });
    const hash = key === null ? null : requestHash(body as Record<string, unknown>);
    const record = (made: Registration): void => journal.append(made, { idempotencyKey: key, requestHash: hash });
    const outcome = await module.register(document, record);
    if (outcome.kind === 'refused') return refusedByModule(outcome);
    const { registration } = outcome;
    // Crash from here on: the document is registered and unsent; a call with the same key finds it in the journal.
    const delivery = await inSpan('ofd deliver', { kind: 'client' }, async (span) => {
      const delivered = await courier.deliver(registration.seq);
      span.set({ delivery: delivered.kind });
      return delivered;
    });
    return { kind: 'registered', response: this.responseOf(registration, delivery), replayed: false };
  }

  private extensionProblem(body: object): ShapeProblem | null {
    return this.parts.extensions ? extensionProblem(body as Record<string, unknown>) : null;
  }

  /** The first violation in the documented order: receipt, items in order, payment; then what no code describes. */
  private violation(body: object): Refusal | null {
    const [first] = checkLocalReceipt(body, this.parts.goods, this.parts.vatRule);
    if (first) {
      const { code, rule, message, itemIndex, itemName, field, value } = first;
      const item = itemIndex === null ? {} : { itemIndex, itemName };
      return { kind: 'refused', code, rule, message, details: { ...item, field, value: shown(value) } };
    }
    const problem = localShapeProblem(body) ?? this.extensionProblem(body);
    if (!problem) return null;
    const { message, itemIndex, itemName, field } = problem;
    const item = itemIndex === null ? {} : { itemIndex, itemName };
    return { kind: 'refused', code: 'S-003', message, details: { ...item, field } };
  }
}

/** A refused value is shown as it came, but neither deep nor long. */
function shown(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, 200);
  if (typeof value !== 'object' || value === null) return value;
  const { cash, card } = value as Record<string, unknown>;
  return typeof cash === 'number' && typeof card === 'number' ? { cash, card } : undefined;
}
