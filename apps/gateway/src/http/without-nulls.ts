/**
 * A body in which null says nothing: an optional field that holds it is left out, at any depth. Programs that write every field that
 * they know send it so. What is judged is the body as it came, and so is its hash: a repeated request is known by what was sent.
 */
export function withoutNulls<Body extends object>(body: Body): Body {
  return holdsNull(body) ? (copyOf(body) as Body) : body;
}

function holdsNull(value: unknown): boolean {
  if (value === null) return true;
  if (typeof value !== 'object') return false;
  // Most bodies hold none, and are read on the way of every sale: no list is made of them.
  for (const name in value) if (holdsNull((value as Readonly<Record<string, unknown>>)[name])) return true;
  return false;
}

function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, copyOf(member)]));
}
