import { AsyncLocalStorage } from 'node:async_hooks';
import type { TraceContext } from './tracing/trace-context.js';

/** Whose share of what all use some work takes. */
export interface Share {
  /** A merchant, a person who works for itself or the platform, or an address without an account. */
  readonly name: string;
  /** The share of which it is a part: many addresses have together what one merchant has. */
  readonly within?: string;
  /** The work has had its turn once: what is under way goes on before what is to begin. */
  hasBegun: boolean;
  /** The work only reads: whatever it has begun, nothing was done. */
  readonly isRead?: boolean;
}

/** For whom and in which trace the work at hand is done, also in what it waits for. */
export interface WorkContext {
  /** Null: for no merchant in particular, or for many. */
  readonly merchantId: string | null;
  /** Null: of none in particular. */
  readonly share: Share | null;
  readonly trace: TraceContext | null;
}

const NONE: WorkContext = { merchantId: null, share: null, trace: null };
/** One for both: Node.js 20 hands each store on at every promise, so that a second one costs accepting a tenth where all is traced (docs/adr/0217-what-traces-cost.md). */
const current = new AsyncLocalStorage<WorkContext>();

export function workContext(): WorkContext {
  return current.getStore() ?? NONE;
}

/** Does work in this context; what is not named stays as it is. */
export function withinContext<T>(change: Partial<WorkContext>, work: () => T): T {
  return current.run({ ...workContext(), ...change }, work);
}
