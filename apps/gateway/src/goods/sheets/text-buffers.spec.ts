// Promise: an export's bytes are the texts that were added, whole, in order, and each once.
import { buffer } from 'node:stream/consumers';
import { linesAsBytes, TextBuffers, textStream } from './text-buffers.js';

test('texts of every size and alphabet come out as they went in', () => {
  const texts = Array.from({ length: 2_000 }, (_, index) => `${index} ${'oў€😀'.repeat(index % 90)}\n`);
  texts.splice(500, 0, 'x'.repeat(400_000), '', '\u20ac'.repeat(100_000));
  const buffers = new TextBuffers();
  for (const text of texts) buffers.add(text);
  const taken = buffers.take();
  expect(Buffer.concat(taken).toString()).toBe(texts.join(''));
  expect(taken.length).toBeGreaterThan(5);
  expect(buffers.take()).toEqual([]);
  buffers.add('again');
  expect(Buffer.concat(buffers.take()).toString()).toBe('again');
});

test('lines that come one by one become few pieces, and a file has its head before them', async () => {
  const lines = Array.from({ length: 5_000 }, (_, index) => `${index};${'ў'.repeat(index % 70)}\n`);
  async function* each(): AsyncGenerator<string> {
    for (const line of lines) yield await Promise.resolve(line);
  }
  const pieces: number[] = [];
  for await (const batch of linesAsBytes(each())) pieces.push(...batch.map(({ length }) => length));
  expect(pieces.length).toBeLessThan(12);
  expect((await buffer(textStream(linesAsBytes(each()), Buffer.from('head\n')))).toString()).toBe(
    `head\n${lines.join('')}`,
  );
  expect(await buffer(textStream(linesAsBytes((async function* () {})())))).toHaveLength(0);
});
