import type { Prisma } from '#database';
import { checkLocalReceipt, extensionProblem, localShapeProblem, type GoodsEntry, type VatRule } from '#fiscal-domain';
import { errorBody, httpStatusOf, readDocument, refusedByModule, requestHash, type Refusal } from '#fiscal-module';
import { register } from './emulated-module.js';
import type { EmulatedStore, Forced, KeptDocument, LockedRegister } from './emulated-store.js';

/** What a call is answered with; `lost`: the register has done what it does, and no answer arrives. */
export type EmulatedAnswer =
  | { kind: 'answered'; status: number; body: unknown; /** What was to be forced has happened. */ isForced?: boolean }
  | { kind: 'lost' };

export interface EmulatedSale {
  body: unknown;
  key: string | null;
  vatRule: VatRule;
  forced: Forced | null;
}

/** After this an emulated register does not refuse because of itself any more: the lane asks again every 15 s. */
const REFUSES_FOR_MS = 10_000;

type Tx = Prisma.TransactionClient;
type Body = Readonly<Record<string, unknown>>;

/** POST /receipts of an emulated register: the rules of the real one, and what is forced. */
export class EmulatedSales {
  constructor(private readonly store: EmulatedStore) {}

  async execute(tx: Tx, deviceId: string, known: LockedRegister, sale: EmulatedSale): Promise<EmulatedAnswer> {
    const { body, key } = sale;
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      return refused({ kind: 'refused', code: 'S-003', message: 'the body must be a JSON object' });
    const request = body as Body;
    const kept = key === null ? null : await this.store.find(tx, deviceId, { key });
    if (kept) return replayed(kept, request);
    const forced = forcedAnswer(sale.forced);
    if (forced) return forced.kind === 'lost' ? forced : { ...forced, isForced: true };
    const violation = violationOf(request, sale.vatRule);
    if (violation) return refused(violation);
    return this.register(tx, deviceId, known, { ...sale, body: request });
  }

  private async register(
    tx: Tx,
    deviceId: string,
    { terminalId, state, now }: LockedRegister,
    { body, key, forced }: EmulatedSale & { body: Body },
  ): Promise<EmulatedAnswer> {
    // Every field that is read from here on was checked just now.
    const document = readDocument(body as unknown as Parameters<typeof readDocument>[0]);
    const made = register(state, document, { terminalId, nowMs: now.getTime() });
    if (made.kind === 'refused') return refused(refusedByModule(made));
    const unsentFor = forced?.outcome.kind === 'ofd_backlog' ? forced.outcome.seconds : null;
    const response = unsentFor === null ? made.value : unsent(made.value);
    const kept = { seq: made.state.receiptSeq, key, requestHash: requestHash(body), response: made.value, unsentFor };
    await this.store.saveState(tx, deviceId, made.state);
    await this.store.keep(tx, deviceId, kept);
    const isLost = forced?.outcome.kind === 'answer_lost' && forced.times === 0;
    return isLost ? { kind: 'lost' } : { kind: 'answered', status: 200, body: response, isForced: forced !== null };
  }
}

export function refused(refusal: Refusal): EmulatedAnswer {
  return { kind: 'answered', status: httpStatusOf(refusal.code), body: errorBody(refusal) };
}

/** A document of the journal, with its delivery as it stands now. */
export function keptResponse({ response, is_unsent: isUnsent }: KeptDocument): unknown {
  return isUnsent ? unsent(response) : response;
}

function unsent(response: KeptDocument['response']): unknown {
  return { ...response, ofdSent: false, ofdError: 'the sandbox keeps the OFD away (T-001)' };
}

function replayed(kept: KeptDocument, request: Body): EmulatedAnswer {
  if (kept.request_hash === requestHash(request)) return { kind: 'answered', status: 200, body: keptResponse(kept) };
  const details = { reason: 'idempotency_conflict', receiptSeq: Number(kept.seq) };
  const message = 'the Idempotency-Key was used for another document';
  return refused({ kind: 'refused', code: 'S-005', message, details });
}

/** Null: the document is registered. */
function forcedAnswer(forced: Forced | null): EmulatedAnswer | null {
  if (!forced) return null;
  const { outcome, times, sinceMs } = forced;
  switch (outcome.kind) {
    case 'rejected':
      return refused({
        kind: 'refused',
        code: outcome.code,
        rule: 'sandbox',
        message: 'refused as the sandbox was asked',
      });
    case 'refused': {
      if (times > 0 && sinceMs >= REFUSES_FOR_MS) return null;
      return refused({
        kind: 'refused',
        code: outcome.code,
        message: 'refused as the sandbox was asked, for a moment',
      });
    }
    case 'unknown': {
      if (times === 0) return { kind: 'lost' };
      // The lane asks for what it has sent, and the answer speaks of another document: nothing is proven, a person decides.
      const message = 'as the sandbox was asked, another document has this key';
      return times === 1 ? refused({ kind: 'refused', code: 'S-005', message }) : null;
    }
    default:
      return null;
  }
}

function violationOf(body: Body, vatRule: VatRule): Refusal | null {
  const [first] = checkLocalReceipt(body, goodsOf(body), vatRule);
  if (first) {
    const { code, rule, message, itemIndex, itemName, field } = first;
    const item = itemIndex === null ? {} : { itemIndex, itemName };
    return { kind: 'refused', code, rule, message, details: { ...item, field } };
  }
  const problem = localShapeProblem(body) ?? extensionProblem(body);
  if (!problem) return null;
  const { message, field } = problem;
  return { kind: 'refused', code: 'S-003', message, details: { field } };
}

/** The gateway has judged the goods by the classification register; an emulated register has none, and takes them as they are named. */
function goodsOf(body: Body): (spic: string) => GoodsEntry | undefined {
  const items = Array.isArray(body['items']) ? (body['items'] as unknown[]) : [];
  const fields = items.filter((item): item is Body => typeof item === 'object' && item !== null);
  return (spic) => {
    const named = fields.filter((item) => item['spic'] === spic);
    const packages = named.map((item) => item['packageCode']).filter((code) => typeof code === 'string');
    const marked = named.some(({ label, labels }) => Boolean(label) || (Array.isArray(labels) && labels.length > 0));
    return { packages, marked, cashAllowed: true, active: true };
  };
}
