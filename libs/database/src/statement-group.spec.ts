// Promise: each caller is answered for itself, and what the server refuses for the sake of one is answered to all others.
import pg from 'pg';
import { StatementGroup } from './statement-group.js';

function refusal(): pg.DatabaseError {
  const error = new pg.DatabaseError('invalid input', 0, 'error');
  error.code = '22P02';
  return error;
}

/** Doubles numbers; what it is asked of a negative one fails as a whole. */
function groupOf(error: () => Error, asked: number[][], isApartWhenRefused: boolean): StatementGroup<number, number> {
  return new StatementGroup(
    (numbers: readonly number[]) => {
      asked.push([...numbers]);
      return numbers.some((each) => each < 0) ? Promise.reject(error()) : Promise.resolve(numbers.map((n) => 2 * n));
    },
    { isApartWhenRefused, maxRows: 3 },
  );
}

const answersOf = async (group: StatementGroup<number, number>, asked: readonly number[]): Promise<unknown[]> => {
  const settled = await Promise.allSettled(asked.map((each) => group.one(each)));
  return settled.map((each) => (each.status === 'fulfilled' ? each.value : 'rejected'));
};

const APART = [[1, -2, 3], [1], [-2], [3], [4]];
const TOGETHER = [[1, -2, 3], [4]];
const lost = (): Error => new Error('Connection terminated');
/** After the commit, perhaps. */
const fatal = (): Error =>
  Object.assign(new pg.DatabaseError('could not flush', 0, 'error'), { code: '58030', severity: 'PANIC' });

test.each([
  { how: 'taken apart', error: refusal, isApart: true, answers: [2, 'rejected', 6, 8], statements: APART },
  {
    how: 'not taken apart',
    error: refusal,
    isApart: false,
    answers: Array<string>(3).fill('rejected').concat('8'),
    statements: TOGETHER,
  },
  {
    how: 'of which nothing is known',
    error: lost,
    isApart: true,
    answers: Array<string>(3).fill('rejected').concat('8'),
    statements: TOGETHER,
  },
  {
    how: 'by a server that breaks down',
    error: fatal,
    isApart: true,
    answers: Array<string>(3).fill('rejected').concat('8'),
    statements: TOGETHER,
  },
])('a group that is refused, $how', async ({ error, isApart, answers, statements }) => {
  const asked: number[][] = [];
  expect((await answersOf(groupOf(error, asked, isApart), [1, -2, 3, 4])).map(String)).toEqual(answers.map(String));
  expect(asked.sort()).toEqual(statements.toSorted());
});
