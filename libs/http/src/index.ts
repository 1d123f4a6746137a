export {
  BODY_LIMIT_BYTES,
  createFastifyNestApp,
  stopFastifyNestApp,
  type HttpAppOptions,
  type RootModule,
} from './fastify-app.js';
export { closePromptly } from './prompt-closing.js';
export { preferredLanguage } from './language.js';
export { observeRequests } from './observe-requests.js';
export { BodyValidationPipe, refuseWrongBody } from './body-validation.pipe.js';
export {
  HttpProblem,
  PROBLEM_MEDIA_TYPE,
  problemDocument,
  problemKind,
  statusOf,
  type ProblemDocument,
} from './problem-answer.js';
export { ProblemFilter, sendProblem } from './problem-filter.js';
export { OwedAnswers } from './owed-answers.js';
export { hasSeveralHosts } from './raw-headers.js';
export { AcceptsFile, AcceptsForm, addToRouteConfig, BodyLimit, FILE_MEDIA_TYPES } from './route-config.js';
export { REQUEST_ID_HEADER, requestIdOf } from './request-id.js';
export { traceRequests } from './trace-requests.js';
