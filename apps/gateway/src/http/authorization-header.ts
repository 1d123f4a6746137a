/**
 * All values of the Authorization header.
 * @param rawHeaders names and values in turn, as received: Node keeps only the first of repeated ones elsewhere
 */
export function authorizationValues(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_value, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'authorization');
}
