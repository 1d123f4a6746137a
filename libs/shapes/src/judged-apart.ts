import { emptied } from './known-shape.js';

type Class = new () => object;

const lists = new WeakMap<object, Set<string>>();

/**
 * A list whose entries are judged one by one, each by `checkShape` with a class of its own. They stay as they were sent: a copy by class-transformer
 * would lose what is named like a method of every object, and one of them would refuse all.
 */
export function JudgedApart(): PropertyDecorator {
  return (target, name) => {
    const names = lists.get(target.constructor) ?? new Set();
    lists.set(target.constructor, names.add(String(name)));
  };
}

/** Null: none. */
export function listsJudgedApart(type: Class): ReadonlySet<string> | null {
  return lists.get(type) ?? null;
}

/** The body with nothing in the entries of these lists, and the lists as they were sent. */
export function withoutEntries(
  body: unknown,
  names: ReadonlySet<string>,
): { body: unknown; sent: Record<string, unknown> } {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return { body, sent: {} };
  const shell: Record<string, unknown> = { ...body };
  const sent: Record<string, unknown> = {};
  for (const name of names) {
    const list = shell[name];
    if (!Array.isArray(list)) continue;
    sent[name] = list;
    shell[name] = list.map(emptied);
  }
  return { body: shell, sent };
}
