import type { Api, WriteOptions } from '../api.js';
import type { BodyOf, FiltersOf, Schema } from '../api-types.js';
import { limitedTo, sleep } from '../clock.js';
import { FiscalGatewayError, UsageError } from '../errors.js';
import type { PagedList } from '../pages.js';
import { isSettled, type Receipt, type SettledReceipt } from '../receipt-states.js';
import type { CallOptions } from '../transport.js';
import { resourceOf, type Resource } from './resource.js';

export type SaleBody = BodyOf<'POST', '/v1/receipts'>;
export type RefundBody = Schema<'RefundBody'>;
export type ValidatedSale = Schema<'ValidatedView'>;
export type BatchEntry = Omit<Schema<'BatchEntry'>, 'receipt'> & { receipt: Receipt | null };
export type ReceiptFilters = FiltersOf<'/v1/receipts'>;

/** Names a sale for good: a repeat with the same key finds it, from any process and after any restart. */
export interface Keyed {
  idempotencyKey: string;
}

/** The caller's own number of the sale, unique within the merchant: it does what a key does. */
export interface Named {
  external_id: string;
}

export interface SaleOptions extends WriteOptions {
  /** Seconds to wait for the register: 0 to 60, 10 by default. 0: the answer is a receipt on its way. */
  waitS?: number | undefined;
}

export interface WaitOptions extends CallOptions {
  /** A minute by default. */
  timeoutMs?: number;
  /** Called with each state that was read. */
  onState?: (receipt: Receipt) => void;
}

/** The receipt was still on its way when the time was up. The gateway goes on; wait again, or let a webhook say it. */
export class WaitTimeoutError extends FiscalGatewayError {
  override name = 'WaitTimeoutError';

  constructor(readonly receipt: Receipt) {
    super(`Receipt ${receipt.id} is still ${receipt.status}.`);
  }
}

const DEFAULT_WAIT_S = 10;
const WAIT_TIMEOUT_MS = 60_000;
const FIRST_POLL_MS = 250;
const SLOWEST_POLL_MS = 5_000;

type More = Resource<'receipts'>;

export class Receipts {
  declare readonly refunds: More['refunds'];
  declare readonly timeline: More['timeline'];
  declare readonly messages: More['messages'];
  declare readonly sendMessage: More['sendMessage'];
  declare readonly document: More['document'];
  declare readonly export: More['export'];
  declare readonly completeFiscal: More['completeFiscal'];

  constructor(private readonly api: Api) {
    Object.assign(this, resourceOf(api, 'receipts'));
  }

  /**
   * Sells. The result has one of the states of `Receipt`: only `registered` has a fiscal document, and a receipt that is
   * still on its way is no error. What the gateway or the register refuses is thrown as `ProblemError`.
   */
  create(sale: SaleBody, options: SaleOptions & Keyed): Promise<Receipt>;
  create(sale: SaleBody & Named, options?: SaleOptions): Promise<Receipt>;
  async create(sale: SaleBody, options: SaleOptions = {}): Promise<Receipt> {
    assertNamed(sale, options);
    return this.api.repeat('/v1/receipts', { body: sale }, waiting(options)) as Promise<Receipt>;
  }

  /** Takes a sale back, in part or wholly (`{}` or nothing: everything that is left). */
  refund(saleId: string, refund: RefundBody | undefined, options: SaleOptions & Keyed): Promise<Receipt>;
  refund(saleId: string, refund: RefundBody & Named, options?: SaleOptions): Promise<Receipt>;
  async refund(saleId: string, refund: RefundBody = {}, options: SaleOptions = {}): Promise<Receipt> {
    assertNamed(refund, options);
    const parameters = { path: { id: saleId }, body: refund };
    return this.api.repeat('/v1/receipts/{id}/refunds', parameters, waiting(options)) as Promise<Receipt>;
  }

  get(id: string, options?: CallOptions): Promise<Receipt> {
    return this.api.request('GET', '/v1/receipts/{id}', { path: { id } }, options) as Promise<Receipt>;
  }

  /**
   * Reads the receipt until the gateway is done with it. `unknown` ends the waiting too: a person decides what follows.
   * @throws WaitTimeoutError
   */
  async waitUntilFinal(id: string, options: WaitOptions = {}): Promise<SettledReceipt> {
    const { timeoutMs = WAIT_TIMEOUT_MS, onState, ...rest } = options;
    const { signal, isTimedOut, release } = limitedTo(timeoutMs, rest.signal);
    try {
      let receipt = await this.get(id, rest);
      for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(SLOWEST_POLL_MS, pollMs * 1.5)) {
        onState?.(receipt);
        if (isSettled(receipt)) return receipt;
        try {
          // Half of it is drawn, so that callers who began together spread.
          await sleep(pollMs * (0.5 + Math.random() / 2), signal);
          receipt = await this.get(id, { ...rest, signal });
        } catch (error) {
          throw isTimedOut() ? new WaitTimeoutError(receipt) : error;
        }
      }
    } finally {
      release();
    }
  }

  /** Newest first. */
  list(
    filters: ReceiptFilters = {},
    options?: CallOptions,
  ): PagedList<{ data: Receipt[]; next_cursor: string | null }> {
    return this.api.list('/v1/receipts', { query: filters }, options) as unknown as ReturnType<Receipts['list']>;
  }

  /** Takes a receipt that was not sent yet out of its lane. */
  cancel(id: string, options?: CallOptions): Promise<Receipt> {
    return this.api.repeat('/v1/receipts/{id}/cancel', { path: { id } }, options) as Promise<Receipt>;
  }

  /** All checks of a sale, and what it would become; nothing is stored. */
  validate(sale: SaleBody, options?: CallOptions): Promise<ValidatedSale> {
    return this.api.repeat('/v1/receipts/validate', { body: sale }, options);
  }

  /** Up to 500 sales, each with a number of its own and a result of its own. */
  async batch(sales: readonly (SaleBody & Named)[], options?: CallOptions): Promise<BatchEntry[]> {
    if (sales.some(({ external_id: name }) => !name))
      throw new UsageError('Each sale of a batch needs an external_id.');
    const { data } = await this.api.repeat('/v1/receipts/batch', { body: { receipts: sales as never } }, options);
    return data as BatchEntry[];
  }
}

/** Callers without types meet here what the types say. */
export function assertNamed(body: { external_id?: string | null | undefined }, { idempotencyKey }: SaleOptions): void {
  if (idempotencyKey || body.external_id) return;
  throw new UsageError('A sale or refund needs an idempotencyKey or external_id: else a repeat is new.');
}

export function waiting(options: SaleOptions): WriteOptions & { headers: Record<string, string>; waitS: number } {
  const { waitS } = options;
  if (waitS === undefined) return { ...options, headers: {}, waitS: DEFAULT_WAIT_S };
  const prefer = waitS === 0 ? 'respond-async' : `wait=${Math.ceil(waitS)}`;
  return { ...options, headers: { prefer }, waitS };
}
