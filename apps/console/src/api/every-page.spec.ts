// Promise: what is read whole is read to its end, in order, and not without one; again and again it costs a request each time, however long it is.
import { everyPage, refreshAfter } from './every-page.js';

function listOf(size: number): { asked: (string | undefined)[]; read: Parameters<typeof everyPage<number>>[0] } {
  const asked: (string | undefined)[] = [];
  const read: Parameters<typeof everyPage<number>>[0] = ({ limit, cursor }) => {
    asked.push(cursor);
    const from = Number(cursor ?? 0);
    const data = Array.from({ length: Math.min(limit, size - from) }, (_, index) => from + index);
    return Promise.resolve({ data, next_cursor: from + limit < size ? String(from + limit) : null });
  };
  return { asked, read };
}

test.each([0, 1, 100, 101, 300])('%i of them', async (size) => {
  const { asked, read } = listOf(size);
  const entries = Array.from({ length: size }, (_, index) => index);
  expect(await everyPage(read)).toEqual({ entries, isWhole: true });
  expect(asked).toHaveLength(Math.max(1, Math.ceil(size / 100)));
});

test('a list without an end is left at two thousand', async () => {
  const { asked, read } = listOf(1_000_000);
  const { entries, isWhole } = await everyPage(read);
  expect([entries.length, isWhole, asked.length]).toEqual([2_000, false, 20]);
});

test('a list of just as many is whole', async () => {
  expect((await everyPage(listOf(2_000).read)).isWhole).toBe(true);
});

test.each([0, 100, 101, 300, 3_000])('%i of them, read again and again, are a request a time', async (size) => {
  const { asked, read } = listOf(size);
  const { entries } = await everyPage(read);
  expect(asked.length / (refreshAfter(entries.length, 15_000) / 15_000)).toBe(1);
});
