// Promise: readiness answers in bounded time and names what is missing, also when a check hangs or throws at once.
import { checkReadiness } from './health.js';

test('all up', async () => {
  const result = await checkReadiness([{ name: 'database', check: () => Promise.resolve() }]);
  expect(result).toMatchObject({ status: 'ready', checks: { database: { state: 'up' } } });
});

test('a failing, a throwing and a hanging check are distinguished', async () => {
  const result = await checkReadiness(
    [
      { name: 'database', check: () => Promise.reject(new Error('no')) },
      {
        name: 'thrower',
        check: () => {
          throw new Error('at once');
        },
      },
      { name: 'queue', check: () => new Promise(() => undefined) },
    ],
    50,
  );
  expect(result).toMatchObject({
    status: 'not_ready',
    checks: { database: { state: 'down' }, thrower: { state: 'down' }, queue: { state: 'timeout' } },
  });
});

test('an optional check is shown and leaves the program ready', async () => {
  const readiness = await checkReadiness([
    { name: 'database', check: () => Promise.resolve() },
    { name: 'queue', optional: true, check: () => Promise.reject(new Error('away')) },
  ]);
  expect(readiness).toMatchObject({ status: 'ready', checks: { queue: { state: 'down' } } });
});
