import { BodyValidationPipe } from '#http';

const pipe = new BodyValidationPipe();

/**
 * A body that may be left out altogether; then it is as if `{}` had been sent. Taken from the request itself: the pipe of
 * `@Body()` demands one.
 * @throws Problem 422
 */
export function optionalBody<T extends object>(body: unknown, metatype: new () => T): T {
  return pipe.transform(body ?? {}, { type: 'body', metatype }) as T;
}
