import { randomBytes } from 'node:crypto';
import type { Settings } from '../settings.js';
import { readTraceParent, writeTraceParent, type TraceContext } from './trace-context.js';
import { withinContext, workContext } from '../work-context.js';
import type { TRACING_SETTINGS } from './tracing-settings.js';

export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';
/** Ids, counts and words of fixed sets. Never a name, a sum, a number of a card or person, a key, a token. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  kind?: SpanKind;
  attributes?: SpanAttributes;
  /** The current one unless given; null: a trace of its own, which is sampled where one of its links is. */
  parent?: TraceContext | null;
  /** Others that this work is done for, when it is done for several together. */
  links?: readonly (TraceContext | null)[];
}

/** What takes spans: OpenTelemetry's SDK (open-telemetry.ts). */
export interface SpanMaker {
  start(name: string, options: SpanOptions & { parent: TraceContext | null }): Span;
  stop(): Promise<void>;
}

export interface Span {
  readonly context: TraceContext;
  set(attributes: SpanAttributes): void;
  /** @param reason a word, not the message of an error: that may hold what must not leave */
  fail(reason: string): void;
  end(): void;
}

/** Of work that is not sampled: nothing is kept. */
const NO_SPAN: Pick<Span, 'set' | 'fail'> = { set: () => undefined, fail: () => undefined };

/** Traces that callers may have sampled in a second, beyond the share: their `traceparent` must not choose what we spend. */
const FROM_OUTSIDE_PER_SECOND = 20;

interface Active {
  maker: SpanMaker;
  share: number;
  /** Traces begun for callers in this second. */
  second: number;
  fromOutside: number;
}

let active: Active | null = null;

/** Call it before the server is made. Off where TRACES_URL is not set. */
export async function startTracing(program: string, settings: Settings<typeof TRACING_SETTINGS>): Promise<void> {
  const { TRACES_URL: url, TRACES_SAMPLE: share, TRACES_HEADERS: headers } = settings;
  if (url === undefined) return;
  const { openTelemetry } = await import('./open-telemetry.js');
  active = { maker: openTelemetry({ program, url, headers }), share, second: 0, fromOutside: 0 };
}

/** Sends what is left, for a moment. */
export async function stopTracing(): Promise<void> {
  const { maker } = active ?? {};
  active = null;
  await maker?.stop();
}

export function isTracing(): boolean {
  return active !== null;
}

/** Where this work is; null while nothing is traced. */
export function currentTrace(): TraceContext | null {
  return active === null ? null : workContext().trace;
}

/** For a header, a column or a message to others; null where this work is not sampled. */
export function sampledTraceParent(): string | null {
  const context = currentTrace();
  return context?.isSampled === true ? writeTraceParent(context) : null;
}

/** Runs within the context, or as it is where there is none. */
export function withTrace<T>(context: TraceContext | null, run: () => T): T {
  return active === null || context === null ? run() : withinContext({ trace: context }, run);
}

/** Runs outside of any trace: what is called within gets no parent. */
export function withoutTrace<T>(run: () => T): T {
  return active === null ? run() : withinContext({ trace: null }, run);
}

/**
 * A request's place in its trace: that of its `traceparent`, else a new trace. Each has an id, so that logs and answers can name it;
 * those that are sampled have a span.
 */
export function beginRequestTrace(
  name: string,
  given: string | undefined,
): { context: TraceContext; span: Span | null } | null {
  if (active === null) return null;
  const parent = readTraceParent(given);
  const isSampled = parent === null ? Math.random() < active.share : parent.isSampled && mayBeginForCaller(active);
  if (isSampled) {
    const span = active.maker.start(name, { kind: 'server', parent });
    return { context: span.context, span };
  }
  return { context: new UnsampledTrace(parent?.traceId ?? null), span: null };
}

/** Most requests are none of a trace, and nothing of them is refused or logged: their ids are drawn when a line or an answer asks. */
class UnsampledTrace implements TraceContext {
  readonly isSampled = false;
  private ownSpanId: string | null = null;

  constructor(private knownTraceId: string | null) {}

  get traceId(): string {
    return (this.knownTraceId ??= randomBytes(16).toString('hex'));
  }

  get spanId(): string {
    return (this.ownSpanId ??= randomBytes(8).toString('hex'));
  }
}

/** @returns null where the work is not sampled; else it must be ended */
export function startSpan(name: string, options: SpanOptions = {}): Span | null {
  if (active === null) return null;
  const parent = options.parent === undefined ? workContext().trace : options.parent;
  const isSampled = parent?.isSampled ?? options.links?.some((link) => link?.isSampled === true) ?? false;
  return isSampled ? active.maker.start(name, { ...options, parent }) : null;
}

/** The work within a span of its own; what it throws is noted by its name. */
export function inSpan<T>(
  name: string,
  options: SpanOptions,
  run: (span: Pick<Span, 'set' | 'fail'>) => Promise<T>,
): Promise<T> {
  const span = startSpan(name, options);
  if (span === null) return withTrace(options.parent ?? null, () => run(NO_SPAN));
  return withinContext({ trace: span.context }, () => ended(span, run));
}

async function ended<T>(span: Span, run: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await run(span);
  } catch (error) {
    span.fail(error instanceof Error ? error.name : 'error');
    throw error;
  } finally {
    span.end();
  }
}

function mayBeginForCaller(tracing: Active): boolean {
  const second = Math.floor(performance.now() / 1_000);
  if (tracing.second !== second) Object.assign(tracing, { second, fromOutside: 0 });
  tracing.fromOutside += 1;
  return tracing.fromOutside <= FROM_OUTSIDE_PER_SECOND || Math.random() < tracing.share;
}
