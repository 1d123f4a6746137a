export { Answers, ANSWERS_METADATA, Takes, TAKES_METADATA, type AnswerFacts } from './answers.js';
export { holdsCardNumber, looksLikeCard } from './card-number.js';
export { addressGroup, CidrSet, parseCidr, type Cidr, type CidrParse, type IpFamily } from './cidr.js';
export { systemClock, type Clock } from './clock.js';
export { isDatabaseBusy, isDatabaseUnavailable, isNotSent, isRowContended } from './database-unavailable.js';
export { deriveKey, EnvelopeError, open, parseKeyring, seal, sealedWith, type Keyring } from './envelope.js';
export { createFastifyNestApp, stopFastifyNestApp, type HttpAppOptions, type RootModule } from './fastify-app.js';
export { FairSlots, type FairSlotsOptions, type ReleaseSlot } from './fair-slots.js';
export { closePromptly } from './prompt-closing.js';
export { GuardedFetch, guardedRequest, type GuardedAnswer, type GuardedRequest } from './guarded-request.js';
export { growingCache } from './growing-cache.js';
export { canonicalJson, sha256 } from './hash.js';
export { endsWithin, Stopping } from './stopping.js';
export { checkReadiness, HealthModule, type Readiness, type ReadinessCheck } from './health.js';
export { newId } from './ids.js';
export { preferredLanguage, type Language } from './language.js';
export { createLogger, LOG_LEVELS, NestLogger, type Logger, type LogLevel } from './logger.js';
export { Metrics, MetricsModule, type MetricText } from './metrics.js';
export { inNfc } from './nfc.js';
export {
  isPublicUnicast,
  OutgoingGuard,
  OutgoingRefused,
  readOutgoingUrl,
  type NameLookup,
  type UrlVerdict,
} from './outgoing-guard.js';
export { isProblemCode, PROBLEMS, type ProblemCode, type ProblemKind } from './problem-codes.js';
export { ProblemFilter, sendProblem } from './problem-filter.js';
export { problemOf } from './problem-of.js';
export {
  pointerTo,
  Problem,
  PROBLEM_MEDIA_TYPE,
  shownError,
  type ProblemDocument,
  type ProblemError,
  type ProblemOptions,
  type ShownError,
} from './problem.js';
export { textOfProblem } from './problem-texts.js';
export { hasSeveralHosts } from './raw-headers.js';
export { redact, scrubText } from './redaction.js';
export { AcceptsFile, AcceptsForm, addToRouteConfig, BodyLimit, FILE_MEDIA_TYPES } from './route-config.js';
export { runProgram } from './run-program.js';
export { REQUEST_ID_HEADER, requestIdOf } from './request-id.js';
export {
  boolean,
  bytesKey,
  cidrList,
  Field,
  integer,
  oneOf,
  parsed,
  path,
  port,
  proxyList,
  readSettings,
  SettingsError,
  text,
  url,
  urlList,
  type Environment,
  type Settings,
  type SettingsTable,
} from './settings.js';
export { startThread, type ThreadOptions } from './start-thread.js';
export { STOP_GRACE_MS, stopOnSignals, type ShutdownOptions } from './shutdown.js';
export { BodyValidationPipe, validationProblem } from './validation-problem.js';
export { isWeakEd25519, weaknessOf, weaknessOfNewKey } from './weak-keys.js';
