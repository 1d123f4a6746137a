// Promise: a lost PostgreSQL is distinguished from a fault of ours or of the caller, whichever layer reports it.
import { isDatabaseBusy, isDatabaseUnavailable, isNotSent, isRowContended } from '#runtime';
import { statusOf } from './problem-answer.js';
import { httpProblemOf } from './problem-of.js';

const withName = (name: string): Error => Object.assign(new Error('x'), { name });
const withCode = (code: string, more: object = {}): Error => Object.assign(new Error('x'), { code, ...more });

test.each([
  ['Prisma cannot reach', withCode('P1001')],
  ['pool exhausted', withCode('P2024')],
  ['socket refused', withCode('ECONNREFUSED')],
  ['server shutting down', withCode('57P01')],
  ['connection failure', withCode('08006')],
  ['too many connections', withCode('53300')],
  ['a disk of the server that fails', withCode('58030')],
  [
    'raw query over a lost connection',
    withCode('P2010', { meta: { driverAdapterError: { cause: { originalCode: '57P01' } } } }),
  ],
  ['adapter kind', withCode('P2010', { meta: { driverAdapterError: { cause: { kind: 'ConnectionClosed' } } } })],
  ['a lost connection, which pg gives no code', withName('ConnectionLost')],
  ['a silent connection', withName('SilentConnection')],
  ['both addresses refused', new AggregateError([withCode('ECONNREFUSED')], 'x')],
  ['wrapped', new Error('outer', { cause: withCode('ECONNRESET') })],
])('unavailable: %s', (_name, error) => {
  expect(isDatabaseUnavailable(error)).toBe(true);
});

test.each([
  ['unique violation', withCode('P2002')],
  ['SQLSTATE unique', withCode('23505')],
  ['lock timeout', withCode('55P03')],
  ['programming error', new TypeError('undefined is not a function')],
  ['words of a lost connection in an error of another kind', new Error('Connection terminated unexpectedly')],
  ['no error at all', undefined],
])('not unavailable: %s', (_name, error) => {
  expect(isDatabaseUnavailable(error)).toBe(false);
});

test.each([
  ['no address answers', new AggregateError([withCode('ECONNREFUSED')], 'x'), true],
  ['too many sessions', withCode('53300'), true],
  ['no free connection in time', withName('NotConnected'), true],
  ['of our pool', new Error('x', { cause: Object.assign(new Error('x'), { name: 'PoolExhausted' }) }), true],
  ['reset under way', withCode('ECONNRESET'), false],
  ['ended under way', withName('ConnectionLost'), false],
  ['ended by an administrator', withCode('57P01'), false],
])('whether the statement has left: %s', (_name, error, notSent) => {
  expect([isDatabaseUnavailable(error), isNotSent(error)]).toEqual([true, notSent]);
});

test('a circle of causes ends', () => {
  const circle = new Error('a');
  circle.cause = circle;
  expect(isDatabaseUnavailable(circle)).toBe(false);
});

test.each([
  ['lock timeout', withCode('55P03')],
  [
    'victim of a deadlock, through Prisma',
    withCode('P2010', { meta: { driverAdapterError: { cause: { originalCode: '40P01' } } } }),
  ],
])('busy: %s, to be asked again, and no fault of ours', (_name, error) => {
  expect([isDatabaseBusy(error), isDatabaseUnavailable(error)]).toEqual([true, false]);
  const problem = httpProblemOf(error);
  expect([statusOf(problem), problem.code]).toEqual([503, 'service_unavailable']);
});

test.each([
  ['a key that another transaction writes', 'while inserting index tuple (0,1) in relation "receipts"', true],
  ['the same in another language', 'при добавлении кортежа индекса (12,3) в отношение "receipts"', true],
  ['a row of another table', 'while locking tuple (0,1) in relation "devices"', false],
  ['a lock on the whole table', undefined, false],
])('%s', (_name, where, isContended) => {
  expect(isRowContended(withCode('55P03', { where }), 'receipts')).toBe(isContended);
  expect(isRowContended(withCode('23505', { where }), 'receipts')).toBe(false);
});
