export { createFastifyNestApp, stopFastifyNestApp, type HttpAppOptions, type RootModule } from './fastify-app.js';
export { closePromptly } from './prompt-closing.js';
export { preferredLanguage, type Language } from './language.js';
export { inNfc } from './nfc.js';
export { observeRequests } from './observe-requests.js';
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
export { AcceptsFile, AcceptsForm, addToRouteConfig, BodyLimit, FILE_MEDIA_TYPES } from './route-config.js';
export { REQUEST_ID_HEADER, requestIdOf } from './request-id.js';
export { traceRequests } from './trace-requests.js';
export { BodyValidationPipe, validationProblem } from './validation-problem.js';
