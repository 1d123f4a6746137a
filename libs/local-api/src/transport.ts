import type { ExchangeLimits, RawAnswer } from './exchange.js';

/** One request of the local API, as it goes to the register whatever carries it. */
export interface TransportRequest {
  method: 'GET' | 'POST';
  /** With its query, without the register's own base path. */
  path: string;
  headers: Readonly<Record<string, string>>;
  /** The exact bytes; null = none. */
  body: Buffer | null;
  /** Name resolution, TCP and TLS together. */
  connectTimeoutMs: number;
  /**
   * The answer `open` must mean that the register itself is connected at this moment. Without it a carrier may find that
   * out while it sends, and then say `not_sent`.
   */
  confirmed: boolean;
}

/** A request on an open way to the register, nothing of it written. Use it once: `send` or `abandon`. */
export interface OpenedCall {
  /**
   * `mayStillSend` is asked synchronously right before the first byte. Rejects only with what `mayStillSend` throws;
   * nothing was written then.
   */
  send(limits: ExchangeLimits, mayStillSend: () => boolean): Promise<RawAnswer>;
  /** Gives the way up without having written anything. */
  abandon(): void;
}

export type Opening = { kind: 'open'; call: OpenedCall } | { kind: 'not_sent'; reason: string };

/**
 * What carries requests to one register: HTTP to its address, or the link that it dialled in. What an answer means is
 * judged in one place (answers.ts), so a carrier only has to be honest about what left.
 */
export interface LocalApiTransport {
  /** Opens the way and writes nothing. Never rejects. */
  open(request: TransportRequest): Promise<Opening>;
  /** Ends every connection; calls that are under way become unclear. */
  close(): void;
  /** Is not used any more: calls that are under way end as they would have, and nothing is kept after them. */
  retire(): void;
}
