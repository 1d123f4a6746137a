import { setTimeout as delay } from 'node:timers/promises';
import { signWebhook, type FiscalEvent } from '#sdk';

export interface Receiver {
  url: string;
  secret: string;
}

/** One request to the receiver. `status` null: there was no answer. */
export interface Try {
  number: number;
  status: number | null;
  reason: string;
  durationMs: number;
}

export interface Forwarding {
  signal: AbortSignal;
  onTry: (one: Try) => void;
}

/** As production does (docs/webhooks.md). */
const TIMEOUT_MS = 10_000;
const LONGEST_PAUSE_MS = 15_000;
/** A receiver that answers, and not with 2xx, gets an event so many times; one that is away is waited for. */
const TRIES = 5;

/**
 * Sends one event as production sends it: the same body, the same signature, the same headers.
 * @returns whether the receiver took it
 */
export async function forwardEvent(event: FiscalEvent, receiver: Receiver, forwarding: Forwarding): Promise<boolean> {
  const body = JSON.stringify(event);
  let refusals = 0;
  for (let number = 1; ; number += 1) {
    const one = await send(event.id, body, receiver, { number, signal: forwarding.signal });
    forwarding.onTry(one);
    if (one.status !== null && one.status >= 200 && one.status < 300) return true;
    if (one.status !== null) refusals += 1;
    if (refusals >= TRIES) return false;
    await delay(Math.min(LONGEST_PAUSE_MS, 500 * 2 ** (number - 1)), undefined, { signal: forwarding.signal });
  }
}

async function send(
  id: string,
  body: string,
  { url, secret }: Receiver,
  { number, signal }: { number: number; signal: AbortSignal },
): Promise<Try> {
  const begunMs = performance.now();
  const took = (): number => Math.round(performance.now() - begunMs);
  try {
    const signature = await signWebhook(body, secret, { id });
    const headers = { 'content-type': 'application/json', 'user-agent': 'fiscal-receipt-gateway', ...signature };
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal: limit });
    await response.arrayBuffer();
    return { number, status: response.status, reason: response.statusText, durationMs: took() };
  } catch (error) {
    if (signal.aborted) throw error;
    return { number, status: null, reason: reasonOf(error), durationMs: took() };
  }
}

/** `fetch failed` says nothing; its cause does. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  const { code } = (cause ?? {}) as { code?: string };
  return code ?? message;
}
