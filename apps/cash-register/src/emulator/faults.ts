import { SUBSCRIPTION_STATES, type LocalErrorCode, type SubscriptionState } from '#fiscal-domain';
import type { Clock } from '#runtime';

export const FAULTS = [
  ...(['drop_request', 'late_request', 'drop_answer', 'late_answer', 'error_after', 'refuse'] as const),
  ...(['clock_jump', 'subscription', 'memory_full', 'ofd_down'] as const),
] as const;
export type Fault = (typeof FAULTS)[number];

/**
 * One rule of POST /emulator/faults. `rate` 0…1, or `next`: that many times and then no more; neither: always.
 *
 * * `drop_request` closes the connection before anything is registered; `late_request` sleeps `delay_ms` before the
 *   request is worked on, whether the client still waits or not;
 * * `drop_answer` registers and closes the connection; `late_answer` registers and sleeps `delay_ms` before answering;
 *   `error_after` registers and answers 500; `refuse` answers `code` and registers nothing: all on POST /receipts, or on
 *   another path given as `path`;
 * * `clock_jump` moves the register's clock by `delay_ms` (also back), at once and for good;
 * * `subscription` is a state, with the expiry that belongs to it: `code` is active, expiring or expired, until the rules are replaced;
 * * `memory_full`: the module has no space for a document; `ofd_down`: no OFD server can be reached.
 */
export interface FaultRule {
  readonly fault: Fault;
  readonly rate?: number;
  readonly next?: number;
  readonly delayMs: number;
  readonly code?: string;
  readonly path: string;
}

interface ActiveRule {
  readonly rule: FaultRule;
  left: number;
}

const REFUSABLE = /^([EF]-0\d\d|S-00[1-5])$/;
const MAX_JUMP_MS = 100 * 365 * 24 * 60 * 60 * 1000;
/** The longest that a timer sleeps; a longer one would not sleep at all. */
const MAX_DELAY_MS = 2 ** 31 - 1;
/** The calls that faults of a call strike. */
const PATHS: readonly unknown[] = ['/receipts', '/z-report/open', '/z-report/close'];
/** They change what the register is, once: no call uses them up. */
const LASTING: readonly unknown[] = ['clock_jump', 'subscription'];

/** The emulator's faults in force. Posting rules replaces all earlier ones. */
export class FaultBoard {
  private active: ActiveRule[] = [];

  constructor(private readonly clock: EmulatedClock) {}

  replace(rules: readonly FaultRule[]): void {
    for (const rule of rules) if (rule.fault === 'clock_jump') this.clock.jump(rule.delayMs);
    this.active = rules.map((rule) => ({ rule, left: rule.next ?? Number.POSITIVE_INFINITY }));
  }

  list(): FaultRule[] {
    return this.active.map(({ rule, left }) => (rule.next === undefined ? rule : { ...rule, next: left }));
  }

  /** The rule that strikes now, if one does; a `next` rule is used up by it. */
  draw(fault: Fault, path?: string): FaultRule | null {
    for (const active of this.active) {
      const { rule } = active;
      if (rule.fault !== fault || active.left <= 0) continue;
      if (path !== undefined && rule.path !== path) continue;
      if (rule.rate !== undefined && Math.random() >= rule.rate) continue;
      active.left -= 1;
      return rule;
    }
    return null;
  }

  /** {@link draw} for callers that only need a yes or no. */
  strikes(fault: Fault): boolean {
    return this.draw(fault) !== null;
  }

  /** A state, not an event: reading does not use it up. */
  subscription(): SubscriptionState | null {
    const rule = this.active.find((active) => active.rule.fault === 'subscription')?.rule;
    return SUBSCRIPTION_STATES.find((state) => state === rule?.code) ?? null;
  }
}

/** A clock that an emulated register lets jump. */
export class EmulatedClock implements Clock {
  private offsetMs = 0;

  constructor(private readonly base: Clock) {}

  now(): Date {
    return new Date(this.base.now().getTime() + this.offsetMs);
  }

  monotonicMs(): number {
    return this.base.monotonicMs();
  }

  jump(byMs: number): void {
    this.offsetMs += byMs;
  }
}

export type FaultReading =
  | { readonly kind: 'ok'; readonly rules: FaultRule[]; readonly isForAll: boolean }
  | { readonly kind: 'invalid'; readonly message: string };

/** Reads the body of POST /emulator/faults. `registers: "all"`: those of every register of this process. */
export function readFaults(body: unknown): FaultReading {
  const { rules, registers } = (body ?? {}) as { rules?: unknown; registers?: unknown };
  if (!Array.isArray(rules)) return { kind: 'invalid', message: 'the body must be {rules: [{fault, rate | next, …}]}' };
  if (registers !== undefined && registers !== 'all') return { kind: 'invalid', message: 'registers can only be all' };
  const read: FaultRule[] = [];
  for (const [index, value] of (rules as unknown[]).entries()) {
    const rule = readRule(value);
    if (typeof rule === 'string') return { kind: 'invalid', message: `rule ${String(index + 1)}: ${rule}` };
    read.push(rule);
  }
  return { kind: 'ok', rules: read, isForAll: registers === 'all' };
}

function readRule(value: unknown): FaultRule | string {
  const {
    fault: name,
    rate,
    next,
    delay_ms: delayMs = 0,
    code,
    path = '/receipts',
  } = (value ?? {}) as Record<string, unknown>;
  const fault = FAULTS.find((one) => one === name);
  if (!fault) return `fault must be one of ${FAULTS.join(', ')}`;
  if (rate !== undefined && !(typeof rate === 'number' && rate >= 0 && rate <= 1)) return 'rate must be from 0 to 1';
  if (next !== undefined && !(Number.isSafeInteger(next) && (next as number) >= 0))
    return 'next must be a whole number';
  if (typeof delayMs !== 'number' || !Number.isSafeInteger(delayMs)) return 'delay_ms must be a whole number';
  if (delayMs < 0 && fault !== 'clock_jump') return 'delay_ms must not be negative';
  if (Math.abs(delayMs) > (fault === 'clock_jump' ? MAX_JUMP_MS : MAX_DELAY_MS)) return 'delay_ms is too large';
  if (LASTING.includes(fault) && (rate ?? next) !== undefined) return `${fault} takes neither rate nor next`;
  if (code !== undefined && typeof code !== 'string') return 'code must be a text';
  if (typeof path !== 'string' || !PATHS.includes(path)) return `path must be one of ${PATHS.join(', ')}`;
  if (fault === 'refuse' && !REFUSABLE.test(code ?? '')) return 'refuse needs a code such as F-002';
  if (fault === 'subscription' && !SUBSCRIPTION_STATES.some((state) => state === code)) {
    return `subscription needs a code: ${SUBSCRIPTION_STATES.join(', ')}`;
  }
  return {
    ...{ fault, delayMs, path },
    ...(rate !== undefined && { rate: rate }),
    ...(next !== undefined && { next: next as number }),
    ...(code !== undefined && { code }),
  };
}

/** The rule as it was posted. */
export function showRule({ delayMs, ...rule }: FaultRule): Record<string, unknown> {
  return { ...rule, delay_ms: delayMs };
}

/** A code that `refuse` was given; readFaults() let only such codes through. */
export function refusalCode(rule: FaultRule): LocalErrorCode {
  return (rule.code ?? 'S-004') as LocalErrorCode;
}
