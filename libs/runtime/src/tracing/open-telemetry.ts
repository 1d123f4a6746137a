import { hostname } from 'node:os';
import * as api from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { TraceContext } from './trace-context.js';
import type { Span, SpanKind, SpanMaker } from './tracing.js';

/** Spans that wait to be sent; beyond that they are dropped, and nothing else is held up. */
const MAX_QUEUED = 4_096;
const SEND_EVERY_MS = 2_000;
const TIMEOUT_MS = 5_000;
/** For what is left at a stop. */
const STOP_MS = 2_000;
const MAX_LINKS = 128;

const KINDS: Readonly<Record<SpanKind, api.SpanKind>> = {
  internal: api.SpanKind.INTERNAL,
  server: api.SpanKind.SERVER,
  client: api.SpanKind.CLIENT,
  producer: api.SpanKind.PRODUCER,
  consumer: api.SpanKind.CONSUMER,
};

/** OpenTelemetry's SDK. Only what is sampled comes here, so that it samples everything (tracing.ts decides). */
export function openTelemetry(options: {
  program: string;
  url: string;
  headers: Readonly<Record<string, string>>;
}): SpanMaker {
  const { program, url, headers } = options;
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: TIMEOUT_MS });
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      'service.name': program,
      'service.namespace': 'fiscal-gateway',
      'service.instance.id': `${hostname()}-${String(process.pid)}`,
    }),
    sampler: new AlwaysOnSampler(),
    spanLimits: { linkCountLimit: MAX_LINKS },
    spanProcessors: [
      new BatchSpanProcessor(exporter, {
        maxQueueSize: MAX_QUEUED,
        scheduledDelayMillis: SEND_EVERY_MS,
        exportTimeoutMillis: TIMEOUT_MS,
      }),
    ],
  });
  const tracer = provider.getTracer('fiscal-gateway');
  return {
    start: (name, { kind = 'internal', attributes = {}, parent, links = [] }) => {
      const context = parent ? api.trace.setSpanContext(api.ROOT_CONTEXT, spanContextOf(parent)) : api.ROOT_CONTEXT;
      const linked = links.flatMap((link) => (link?.isSampled === true ? [{ context: spanContextOf(link) }] : []));
      return spanOf(tracer.startSpan(name, { kind: KINDS[kind], attributes, links: linked }, context));
    },
    stop: () => stopWithin(provider),
  };
}

function spanOf(span: api.Span): Span {
  const { traceId, spanId } = span.spanContext();
  return {
    context: { traceId, spanId, isSampled: true },
    set: (attributes) => void span.setAttributes(attributes),
    fail: (message) => void span.setStatus({ code: api.SpanStatusCode.ERROR, message }),
    end: () => span.end(),
  };
}

function spanContextOf({ traceId, spanId }: TraceContext): api.SpanContext {
  return { traceId, spanId, traceFlags: api.TraceFlags.SAMPLED, isRemote: true };
}

/** A receiver that is away must not hold up a stop. */
async function stopWithin(provider: BasicTracerProvider): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, STOP_MS);
  });
  // What could not be sent is lost, as everything that is sampled may be.
  await Promise.race([provider.shutdown().catch(() => undefined), late]);
  clearTimeout(timer);
}
