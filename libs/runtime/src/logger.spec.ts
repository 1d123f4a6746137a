// Promise: no token, key, password or Authorization value reaches the log, whatever field or text carries it.
import { createLogger, NestLogger } from './logger.js';

function capture(): {
  lines: () => Record<string, unknown>[];
  text: () => string;
  stream: { write: (line: string) => void };
} {
  const written: string[] = [];
  return {
    stream: { write: (line) => void written.push(line) },
    text: () => written.join(''),
    lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

test('removes secrets by name, at any depth and in any spelling', () => {
  const out = capture();
  createLogger('gateway', 'info', out.stream).info(
    {
      req: { headers: { Authorization: 'Bearer s3cr3t-value', 'X-API-Key': 's3cr3t-key', accept: 'a/b' } },
      body: { client_secret: 's3cr3t', nested: [{ apiKey: 's3cr3t', password: 's3cr3t', access_token: 's3cr3t' }] },
      receipt_id: 'rcp_1',
    },
    'hello',
  );
  expect(out.text()).not.toContain('s3cr3t');
  expect(out.lines()[0]).toMatchObject({ name: 'gateway', level: 'info', receipt_id: 'rcp_1', msg: 'hello' });
});

test('removes secrets by pattern, in messages, errors and their causes', () => {
  const out = capture();
  const logger = createLogger('gateway', 'info', out.stream);
  const cause = new Error('cannot connect to postgresql://app:s3cr3t@db/gateway');
  logger.error(new Error('refused Bearer s3cr3ts3cr3t', { cause }));
  logger.info('token fgw_at_s3cr3ts3cr3ts3cr3t was seen, client_secret=s3cr3t');
  expect(out.text()).not.toContain('s3cr3t');
  expect(out.lines()[0]).toMatchObject({
    err: { type: 'Error', cause: { message: expect.stringContaining('postgresql://app') } },
  });
});

test.each(['a.', 'a-', 'a://', 'a://:', 'a://b:', 'Bearer ', 'fgw_a_', 'password=', ' '])(
  'takes no longer for a text of others than its length asks for: %j again and again',
  (piece) => {
    const out = capture();
    const { user } = process.cpuUsage();
    createLogger('gateway', 'info', out.stream).info(`Bearer${piece.repeat(131_072 / piece.length)}`);
    // Of a processor: many seconds where it grows with the square of the length, some milliseconds else.
    expect(process.cpuUsage().user - user).toBeLessThan(1_000_000);
  },
);

test('keeps stack and code of an error', () => {
  const out = capture();
  createLogger('relay', 'info', out.stream).error({ err: Object.assign(new Error('no'), { code: 'E1' }) }, 'failed');
  expect(out.lines()[0]).toMatchObject({
    msg: 'failed',
    err: { code: 'E1', message: 'no', stack: expect.stringContaining('logger.spec') },
  });
});

test('carries the messages of Nest', () => {
  const out = capture();
  const nest = new NestLogger(createLogger('relay', 'debug', out.stream));
  nest.error('broken', 'stack text', 'Router');
  nest.log('mapped', 'Router');
  expect(out.lines()).toMatchObject([
    { level: 'error', msg: 'broken', context: 'Router', more: ['stack text'] },
    { level: 'debug', msg: 'mapped', context: 'Router' },
  ]);
});
