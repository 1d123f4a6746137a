/** Letters, digits and what a path, query and fragment are made of. No backslash: browsers read it as a slash. */
const PATH = /^\/(?![/\\])[\w\-./~%!$&'()*+,;=:@?#]{0,999}$/;

/**
 * Where a browser may be sent after a login: a path of the own origin. Anything that a browser could read as another host is none.
 * Null: it is not.
 */
export function returnPath(text: string, origin: string): string | null {
  if (!PATH.test(text)) return null;
  const url = new URL(text, origin);
  if (url.origin !== origin) return null;
  const path = `${url.pathname}${url.search}${url.hash}`;
  return path.startsWith('//') ? null : path;
}
