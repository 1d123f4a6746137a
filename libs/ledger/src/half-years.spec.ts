// Promise: a statement that names half-years finds every receipt that it is given, whatever its id, and names no more than their half-years.
import { firstIdAt, newIdOf } from '#runtime';
import { inHalfYears, receiptsWithin, twoHalfYearsBefore, withinHalfYears } from './half-years.js';

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

test('a page begins with the half-year of its cursor, or of now, and the one before', () => {
  const now = new Date('2026-03-03');
  const start = (id: string | null): string | undefined => twoHalfYearsBefore(id, now, now)?.from;
  expect(start(null)).toBe(firstIdAt('rcp', new Date('2025-07-01')));
  expect(start(at('2024-06-30T23:59:59.999Z'))).toBe(firstIdAt('rcp', new Date('2023-07-01')));
  expect(start(at('2024-07-01'))).toBe(firstIdAt('rcp', new Date('2024-01-01')));
  expect([SANDBOX, 'rcp_1', ''].map(start)).toEqual([undefined, undefined, undefined]);
  // Each half-year that is named is a text that sessions keep, and a cursor may be of any time.
  expect(['2016-06-30', '2029-01-01', '1970-01-01', '9999-01-01'].map((time) => start(at(time)))).toEqual([
    ...[undefined, undefined, undefined, undefined],
  ]);
  expect(['2016-07-01', '2028-12-31'].map((time) => start(at(time)) !== undefined)).toEqual([true, true]);
  // A refund that a gateway whose clock is behind has made.
  const { receipts, refunds } = twoHalfYearsBefore(null, now, now)!;
  expect(receipts.sql).toBe(
    `AND receipts.id ~>=~ '${firstIdAt('rcp', new Date('2025-07-01'))}' AND receipts.id >= '${firstIdAt('rcp', new Date('2025-07-01'))}'`,
  );
  expect(refunds.sql).toBe(`AND f.id ~>=~ '${firstIdAt('rcp', new Date('2025-01-01'))}'`);
});

test('readers name one half-year or two, of few years; refunds are found from the half-year before on', () => {
  const now = new Date('2026-11-03');
  const named = (...ids: string[]): string[] => {
    const { receipts, refunds } = receiptsWithin(ids, now);
    return [receipts.sql, refunds.sql];
  };
  const first = (day: string): string => firstIdAt('rcp', new Date(day));
  const words = (from: string, to: string, since: string): string[] => [
    `AND receipts.id ~>=~ '${from}' AND receipts.id ~<~ '${to}'`,
    `AND f.id ~>=~ '${since}'`,
  ];
  const [winter, spring, summer, autumn] = ['2024-07-01', '2025-01-01', '2025-07-01', '2026-01-01'].map(first);
  expect(named(at('2025-03-03'))).toEqual(words(spring!, summer!, winter!));
  expect(named(at('2025-03-03'), at('2025-08-08'))).toEqual(words(spring!, autumn!, winter!));
  expect(named(SANDBOX)).toEqual(words('rcp_t', 'rcp_u', 'rcp_t'));
  for (const ids of [
    [],
    ['rcp_1'],
    [at('2025-03-03'), at('2026-03-03')],
    [at('2025-03-03'), SANDBOX],
    [at('2015-03-03')],
    [at('2029-03-03')],
  ])
    expect([ids, named(...ids)]).toEqual([ids, ['', '']]);
});
