import type { Refusal } from '#fiscal-module';
import { WORD_TABLE } from './word-table.js';
import type { WordKey } from './words.js';

/** One sentence for the person, in whatever language the next page has. */
export interface Notice {
  readonly tone: 'good' | 'bad';
  readonly key: WordKey;
  readonly values?: Readonly<Record<string, string>>;
}

export function good(key: WordKey, values?: Notice['values']): Notice {
  return { tone: 'good', key, ...(values && { values }) };
}

export function bad(key: WordKey, values?: Notice['values']): Notice {
  return { tone: 'bad', key, ...(values && { values }) };
}

/** The refusal of a fiscal operation in the person's words. */
export function refusalNotice({ code, details }: Refusal): Notice {
  if (code === 'E-001') return bad('not_activated');
  if (code === 'E-002') return bad('expired_barred');
  const key = `reason_${String(details?.['reason'])}`;
  return isWordKey(key) ? bad(key) : bad('refused', { code });
}

function isWordKey(key: string): key is WordKey {
  return Object.hasOwn(WORD_TABLE, key);
}
