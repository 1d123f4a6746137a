import { setTimeout as delay } from 'node:timers/promises';
import type { VatRule } from '#fiscal-domain';
import type { ExchangeLimits, LocalApiTransport, Opening, RawAnswer, TransportRequest } from '#local-api';
import type { EmulatedAnswer } from './emulated-sale.js';
import type { EmulatedRegisters } from './emulated-register.js';
import type { Forced } from './emulated-store.js';

const AWAY = 'the emulated register is offline';

/**
 * Calls to a register of a sandbox. No socket is opened, whatever the request says: what stands in the database is all that there
 * is. Its answers are judged as those of every register.
 */
export class EmulatedTransport implements LocalApiTransport {
  private readonly stopped = new AbortController();

  constructor(
    private readonly registers: EmulatedRegisters,
    private readonly device: { id: string; vatRule: VatRule },
  ) {}

  async open(request: TransportRequest): Promise<Opening> {
    try {
      const forced = await this.forcedOn(request);
      if (forced?.outcome.kind === 'offline' && forced.times === 0) {
        await this.registers.store.noteForced(this.device.id, keyOf(request) ?? '');
        await this.registers.store.goOffline(this.device.id, forced.outcome.seconds);
        return { kind: 'not_sent', reason: AWAY };
      }
      if (!(await this.registers.store.isThere(this.device.id))) return { kind: 'not_sent', reason: AWAY };
      return {
        kind: 'open',
        call: {
          send: (limits, mayStillSend) => this.send(request, { limits, mayStillSend, forced }),
          abandon: () => undefined,
        },
      };
    } catch (error) {
      this.registers.logger.warn({ err: error, device_id: this.device.id }, 'an emulated register could not be read');
      return { kind: 'not_sent', reason: AWAY };
    }
  }

  close(): void {
    this.stopped.abort();
  }

  /** Calls under way end as they would have. */
  retire(): void {
    return;
  }

  private async send(
    request: TransportRequest,
    { limits, mayStillSend, forced }: { limits: ExchangeLimits; mayStillSend: () => boolean; forced: Forced | null },
  ): Promise<RawAnswer> {
    if (!mayStillSend()) return { kind: 'not_sent', reason: 'guard' };
    try {
      const answer = await this.answer(request, forced);
      if (answer === null || answer.kind === 'lost') return { kind: 'failed', reason: 'reset' };
      const slowMs = answer.isForced === true ? slowFor(forced) : 0;
      if (slowMs > 0 && (await this.isTooSlow(slowMs, limits))) return { kind: 'failed', reason: 'timeout' };
      const body = Buffer.from(JSON.stringify(answer.body));
      return { kind: 'answered', httpStatus: answer.status, headers: {}, body };
    } catch (error) {
      this.registers.logger.warn({ err: error, device_id: this.device.id }, 'an emulated register broke off');
      // Whether it was committed is not known: as with every register, the lane finds out.
      return { kind: 'failed', reason: 'reset' };
    }
  }

  private async answer(request: TransportRequest, forced: Forced | null): Promise<EmulatedAnswer | null> {
    const { method, path, body } = request;
    const key = keyOf(request);
    const { id, vatRule } = this.device;
    const parsed: unknown = body === null ? null : JSON.parse(body.toString('utf8'));
    const answer = await this.registers.call(id, { method, path, sale: { body: parsed, key, vatRule, forced } });
    // A register that had to open its shift first has forced nothing yet.
    const hasHappened = answer?.kind === 'lost' || answer?.isForced === true;
    if (forced && key !== null && hasHappened) await this.registers.store.noteForced(id, key);
    return answer;
  }

  private async isTooSlow(slowMs: number, { timeoutMs }: ExchangeLimits): Promise<boolean> {
    await delay(Math.min(slowMs, timeoutMs), undefined, { signal: this.stopped.signal });
    return slowMs > timeoutMs;
  }

  private async forcedOn(request: TransportRequest): Promise<Forced | null> {
    const key = keyOf(request);
    if (key === null || request.method !== 'POST' || request.path !== '/receipts') return null;
    return this.registers.store.forcedOn(this.device.id, key);
  }
}

function keyOf({ headers }: TransportRequest): string | null {
  return headers['Idempotency-Key'] ?? null;
}

/** Only the first time: a repetition is answered at once. */
function slowFor(forced: Forced | null): number {
  return forced?.outcome.kind === 'slow' && forced.times === 0 ? forced.outcome.seconds * 1_000 : 0;
}
