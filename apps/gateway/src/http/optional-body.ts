import { checkShape } from '#shapes';

/**
 * A body that may be left out altogether; then it is as if `{}` had been sent. Taken from the request itself: the pipe of
 * `@Body()` demands one.
 * @throws Problem 422
 */
export function optionalBody<T extends object>(body: unknown, metatype: new () => T): T {
  const shaped = checkShape(metatype, body ?? {});
  if (shaped.kind === 'refused') throw shaped.problem;
  return shaped.value;
}
