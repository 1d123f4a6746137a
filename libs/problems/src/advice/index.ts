import type { ProblemCode } from '../problem-codes.js';
import type { Advice } from './advice.js';
import { OF_CALLERS } from './of-callers.js';
import { OF_FLEET } from './of-fleet.js';
import { OF_REQUESTS } from './of-requests.js';
import { OF_SALES } from './of-sales.js';

export type { Advice, AdviceAction } from './advice.js';

/** Every code has one: a code without advice does not compile. */
export const ADVICE: Readonly<Record<ProblemCode, Advice>> = {
  ...OF_REQUESTS,
  ...OF_CALLERS,
  ...OF_SALES,
  ...OF_FLEET,
};
