// Promise: an export's bytes are the texts that were added, whole, in order, and each once.
import { TextBuffers } from './text-buffers.js';

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
