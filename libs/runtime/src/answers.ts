import { SetMetadata } from '@nestjs/common';

export const ANSWERS_METADATA = 'answers';

/** What of a handler's answers cannot be read off its type, for the description of the API. */
export interface AnswerFacts {
  /** Every status that comes with the handler's own answer; default: the one of `@HttpCode`. */
  statuses?: readonly number[];
  /** Default `application/json`. */
  mediaTypes?: readonly string[];
}

/** On a handler that sets status or media type itself (`@Res`). */
export function Answers(facts: AnswerFacts): MethodDecorator {
  return SetMetadata(ANSWERS_METADATA, facts);
}
