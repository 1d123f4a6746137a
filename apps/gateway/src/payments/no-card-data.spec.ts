// Promise: a card number in a body is named by its place, and the search for it never leaves a stream for the server behind it.
import { Readable } from 'node:stream';
import { cardDataIn } from './no-card-data.js';

const CARD = '8600495473316478';
const pointersOf = (body: unknown): string[] => cardDataIn(body).map(({ pointer }) => pointer);

it('names each place, however deep, and never the number', () => {
  const body = { items: [{ name: 'tea' }, { name: CARD }], metadata: { 'a/b': { pan: 'none' } }, token: `${CARD}x` };
  expect(pointersOf(body)).toEqual(['/items/1/name', '/metadata/a~1b/pan']);
  expect(JSON.stringify(cardDataIn(body))).not.toContain(CARD);
});

it('searches what a parser without prototypes made', () => {
  const body = Object.assign(Object.create(null) as object, { note: CARD });
  expect(pointersOf(body)).toEqual(['/note']);
});

it('leaves a stream, bytes and whatever hangs on them to their reader', () => {
  const stream = Object.assign(Readable.from(['a;b']), { socket: { server: { note: CARD } } });
  expect(pointersOf(stream)).toEqual([]);
  expect(pointersOf({ file: Buffer.from(CARD) })).toEqual([]);
});
