import { SetMetadata } from '@nestjs/common';

export const ANSWERS_METADATA = 'answers';
export const TAKES_METADATA = 'takes';

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

/** On a handler that reads its body itself (`@Req`): the class that judges it. The body may be left out. */
export function Takes(body: new () => object): MethodDecorator {
  return SetMetadata(TAKES_METADATA, body);
}
