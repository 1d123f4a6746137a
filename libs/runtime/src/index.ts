export { Answers, Takes } from './answers.js';
export { systemClock, type Clock } from './clock.js';
export * from './database-unavailable.js';
export { FairSlots, type FairSlotsOptions, type ReleaseSlot } from './fair-slots.js';
export { ForAWhile } from './for-a-while.js';
export { loggedReading } from './fresh-reading.js';
export { growingCache } from './growing-cache.js';
export { canonicalJson, sha256 } from './hash.js';
export { endsWithin, Stopping } from './stopping.js';
export { HealthModule } from './health.js';
export { firstIdAt, newId, newIdOf, timeOfId } from './ids.js';
export { createLogger, LOG_LEVELS, NestLogger, type Logger } from './logger.js';
export { Metrics } from './metrics.js';
export { MetricsModule } from './metrics-module.js';
export { METRICS_SETTINGS, serveMetrics } from './metrics-server.js';
export { redact, scrubText } from './redaction.js';
export { untilBeat } from './beat.js';
export { Periodic, PeriodicProvider } from './periodic.js';
export { runProgram } from './run-program.js';
export {
  boolean,
  cidrList,
  Field,
  integer,
  oneOf,
  origin,
  parsed,
  path,
  port,
  proxyList,
  readSettings,
  SettingsError,
  text,
  url,
  urlList,
  workers,
  type Environment,
  type Settings,
  type SettingsTable,
} from './settings.js';
export { readTraceParent, writeTraceParent, type TraceContext } from './tracing/trace-context.js';
export { TRACING_SETTINGS } from './tracing/tracing-settings.js';
export {
  beginRequestTrace,
  currentTrace,
  inSpan,
  isTracing,
  sampledTraceParent,
  startSpan,
  startTracing,
  stopTracing,
  withoutTrace,
  withTrace,
  type Span,
  type SpanOptions,
} from './tracing/tracing.js';
export { withinContext, workContext, type Share } from './work-context.js';
export { StartFailure } from './start-failure.js';
export { startThread } from './start-thread.js';
export { syncFolder } from './sync-folder.js';
export { STOP_GRACE_MS, stopOnSignals } from './shutdown.js';
export { isSupervisor, superviseWorkers } from './workers/supervisor.js';
export { answerSupervisor, workerIndex } from './workers/worker.js';
export { isError } from './redaction.js';
export { decodeBytes } from './settings.js';
