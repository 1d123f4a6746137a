// Promise: texts of any number come back as they were, in whatever order, and nothing of them stays behind.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { TextTable } from './text-table.js';

const folder = mkdtempSync(join(tmpdir(), 'text-table-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('texts come back by their number, in any order', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'binary', maxLength: 300 }), { maxLength: 60 }),
      fc.array(fc.nat({ max: 70 })),
      (texts, asked) => {
        const clean = texts.map((text) => Buffer.from(text).toString());
        const table = new TextTable(folder);
        for (const text of clean) table.add(text);
        expect(asked.map((index) => table.get(index))).toEqual(asked.map((index) => clean[index] ?? null));
        table.close();
      },
    ),
  );
  expect(readdirSync(folder)).toEqual([]);
});

test('more texts than any piece of memory holds', () => {
  const table = new TextTable(folder);
  const textOf = (index: number): string => `${index} ${'ў'.repeat(index % 50)}`;
  for (let index = 0; index < 100_000; index += 1) table.add(textOf(index));
  for (let index = 0; index < 100_000; index += 997) expect(table.get(index)).toBe(textOf(index));
  for (const index of [99_999, 0, 50_000, 8, 7]) expect(table.get(index)).toBe(textOf(index));
  expect([table.get(100_000), table.get(-1), table.get(Number.NaN)]).toEqual([null, null, null]);
  table.close();
});
