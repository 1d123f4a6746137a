// Promise: a problem is described in the language that the caller asked for, and in English when it asked for none we have.
import { LANGUAGES, Problem, PROBLEMS, textOfProblem } from '#problems';
import { preferredLanguage } from './language.js';
import { problemDocument } from './problem-answer.js';

test.each([
  [undefined, 'en'],
  ['', 'en'],
  ['ru', 'ru'],
  ['uz-Latn-UZ, ru;q=0.5', 'uz'],
  ['en;q=0.4, RU;q=0.7', 'ru'],
  ['de, fr;q=0.9', 'en'],
  ['de, uz;q=0.1', 'uz'],
  ['ru;q=0', 'en'],
  ['ru;q=2, uz;q=x', 'en'],
  ['rus', 'en'],
  [`ru,${'x'.repeat(600)}`, 'en'],
])('%s → %s', (header, language) => {
  expect(preferredLanguage(header)).toBe(language);
});

test('every rule of the register has words in all languages, each its own', () => {
  for (const code of Object.keys(PROBLEMS).filter((each) => each.startsWith('E-'))) {
    const texts = LANGUAGES.filter((each) => each !== 'en').map((language) => textOfProblem(code, language));
    expect([code, ...texts]).toEqual([code, expect.stringMatching(/[а-я]/), expect.stringMatching(/[a-z]/)]);
  }
});

test('details are translated, codes and pointers stay; what has no words of its own stays English', () => {
  const problem = Problem.fromErrors([
    { pointer: '/items/0/spic', code: 'E-013', detail: 'spic is unknown' },
    { pointer: '/x', code: 'unknown_field', detail: 'x is not a known field' },
  ]);
  expect(problemDocument(problem, 'r', 'ru')).toMatchObject({
    code: 'E-013',
    detail: expect.stringMatching(/ИКПУ.*\(и ещё 1/),
    errors: [
      { pointer: '/items/0/spic', rule: 'ITEM_SPIC_NOT_IN_TASNIF', detail: expect.stringContaining('ИКПУ') },
      { detail: 'x is not a known field' },
    ],
  });
  expect(problemDocument(problem, 'r').detail).toBe('spic is unknown (and 1 more, see errors)');
  const named = new Problem('E-013', 'The cash register refused receipt rcp_1.', { errors: problem.errors });
  expect(problemDocument(named, 'r', 'uz').detail).toBe('The cash register refused receipt rcp_1.');
});
