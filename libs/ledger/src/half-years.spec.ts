// Promise: a statement that names half-years finds every receipt that it is given, whatever its id, and names no more than their half-years.
import { firstIdAt, newIdOf } from '#runtime';
import { inHalfYears, withinHalfYears } from './half-years.js';

const at = (time: string, rest = '0'.repeat(16)): string => `${firstIdAt('rcp', new Date(time))}${rest}`;
const SANDBOX = newIdOf('rcp', 'mer_test_1');

/** Whether the words let an id through, read as PostgreSQL reads them: byte by byte. */
function lets(words: string, id: string): boolean {
  if (words === '') return true;
  const [, from = '', to = ''] = /^AND r\.id ~>=~ '([0-9a-z_]+)' AND r\.id ~<~ '([0-9a-z_]+)'$/.exec(words) ?? [];
  if (from === '') throw new Error(words);
  return (
    Buffer.compare(Buffer.from(id), Buffer.from(from)) >= 0 && Buffer.compare(Buffer.from(id), Buffer.from(to)) < 0
  );
}

const words = (...ids: (string | null)[]): string => withinHalfYears(ids).sql;

test('of any time, alone and with others, each id is let through', () => {
  const ids = [SANDBOX, at('1970-01-01'), at('3000-05-05'), at('2026-06-30T23:59:59.999Z', 'z'.repeat(16))];
  for (let month = 0; month < 60; month += 1)
    ids.push(at(new Date(Date.UTC(2024, month)).toISOString()), at(new Date(Date.UTC(2024, month) - 1).toISOString()));
  for (const one of ids) {
    expect([one, lets(words(one), one)]).toEqual([one, true]);
    for (const other of ids)
      expect([one, other, ...[one, other].map((id) => lets(words(one, null, other), id))]).toEqual([
        ...[one, other],
        ...[true, true],
      ]);
  }
});

test('what is of another half-year is not: the bounds are those of the partitions, to the millisecond', () => {
  const spring = words(at('2026-03-03'));
  expect(words(at('2026-01-01T00:00:00.000Z'), at('2026-06-30T23:59:59.999Z', 'z'.repeat(16)))).toBe(spring);
  expect(spring).toBe(
    `AND r.id ~>=~ '${firstIdAt('rcp', new Date('2026-01-01'))}' AND r.id ~<~ '${firstIdAt('rcp', new Date('2026-07-01'))}'`,
  );
  for (const id of [at('2025-12-31T23:59:59.999Z', 'z'.repeat(16)), at('2026-07-01T00:00:00.000Z'), SANDBOX])
    expect([id, lets(spring, id)]).toEqual([id, false]);
  expect(lets(words(SANDBOX), at('2026-03-03'))).toBe(false);
});

test.each(['rcp_1', 'rcp_none', '', `rcp_z${'0'.repeat(25)}`, `rcp_0${"'".repeat(25)}`, `${at('2026-03-03')}0`])(
  'an id that no program makes may be anywhere: %s',
  (id) => {
    expect(words(id)).toBe('');
    expect(lets(words(at('2026-03-03'), id), id)).toBe(true);
  },
);

test('nothing given, nothing said', () => {
  expect([words(), words(null, null)]).toEqual(['', '']);
});

test('a part is made once for each half-year, and few are kept', () => {
  let made = 0;
  const part = inHalfYears((within) => `${String((made += 1))} ${within.sql}`);
  const first = part([at('2026-03-03')]);
  expect(part([at('2026-04-04'), null])).toBe(first);
  expect(made).toBe(1);
  for (let year = 1990; year < 2026; year += 1) part([at(`${String(year)}-03-03`)]);
  expect(made).toBe(37);
  expect(part([at('2026-03-03')])).toMatch(/^38 /);
});
