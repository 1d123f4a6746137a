/** Promise at stake: an outage of the queue neither floods the log nor writes a password into it. */
import { QueueCounters, QueueTrouble } from './queue-trouble.js';

function troubleWithLog(): { trouble: QueueTrouble; counters: QueueCounters; lines: object[] } {
  const lines: object[] = [];
  const counters = new QueueCounters();
  const log = { info: () => undefined, error: (fields: object) => void lines.push(fields) };
  return { trouble: new QueueTrouble('bell', log, counters), counters, lines };
}

test('a thousand errors of a kind are one line and a thousand counts', () => {
  const { trouble, counters, lines } = troubleWithLog();
  for (let i = 0; i < 1_000; i += 1) trouble.report('add', new Error('away'));
  trouble.report('connection', new Error('refused'));
  expect(lines).toHaveLength(2);
  expect(counters).toMatchObject({ addFailures: 1_000, errors: 1, handlerFailures: 0 });
});

test('only message and code are logged: a Redis reply error carries the command, and AUTH has the password in it', () => {
  const { trouble, lines } = troubleWithLog();
  const reply = Object.assign(new Error('WRONGPASS invalid username-password pair'), {
    code: 'EAUTH',
    command: { name: 'auth', args: ['hunter2'] },
  });
  trouble.report('connection', reply);
  expect(lines).toEqual([
    { part: 'bell', kind: 'connection', keptBack: 0, error: 'WRONGPASS invalid username-password pair', code: 'EAUTH' },
  ]);
});
