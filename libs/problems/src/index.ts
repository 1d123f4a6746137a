export { ADVICE, type Advice, type AdviceAction } from './advice/index.js';
export { LANGUAGES, type Language } from './languages.js';
export { isProblemCode, PROBLEMS, type ProblemCode, type ProblemKind } from './problem-codes.js';
export { pointerTo, Problem, shownError, type ProblemError, type ProblemOptions, type ShownError } from './problem.js';
export { problemOf } from './problem-of.js';
export { textOfProblem } from './problem-texts.js';
