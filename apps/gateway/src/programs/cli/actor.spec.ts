// Promise: the command line knows who is acting before it does anything, and the answer stands on the trail as a name.
import { PassThrough } from 'node:stream';
import { actorOf, askForActor, withoutActor } from './actor.js';

/** Both ends of a terminal: what a person types, and what it reads. */
function terminal(isTTY = true): {
  streams: { input: NodeJS.ReadStream; output: NodeJS.WriteStream };
  type: (line: string) => void;
  shown: () => string;
} {
  const [input, output] = [new PassThrough(), new PassThrough()];
  Object.assign(input, { isTTY });
  Object.assign(output, { isTTY });
  let text = '';
  output.on('data', (piece: Buffer) => (text += piece.toString()));
  return {
    streams: { input: input as unknown as NodeJS.ReadStream, output: output as unknown as NodeJS.WriteStream },
    type: (line) => void input.write(`${line}\n`),
    shown: () => text,
  };
}

test('a person at a terminal is asked, until the answer is a name', async () => {
  const { streams, type, shown } = terminal();
  const asked = askForActor(streams);
  for (const line of ['../../etc', '<b>', 'Aziza Karimova']) {
    type(line);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await asked).toBe('cli:Aziza Karimova');
  expect(shown()).toMatch(/Who is acting .*\[.+\]/);
});

test('an empty answer is the account of the machine; a script is not asked', async () => {
  const { streams, type } = terminal();
  const asked = askForActor(streams);
  type('');
  const account = await asked;
  expect(account).toMatch(/^cli:./);
  const script = terminal(false);
  expect(await askForActor(script.streams)).toBe(account);
  expect(script.shown()).toBe('');
});

test('--as names it, at any place; what is no name is none', () => {
  expect(withoutActor(['users', '--as', 'aziza', 'list'])).toEqual({ name: 'aziza', rest: ['users', 'list'] });
  expect(withoutActor(['--as=a@shop.uz', 'x'])).toEqual({ name: 'a@shop.uz', rest: ['x'] });
  expect(withoutActor(['x', '--as'])).toEqual({ name: '', rest: ['x'] });
  expect(withoutActor(['x'])).toEqual({ name: null, rest: ['x'] });
  for (const name of ['', ' ', '-x', 'a\nb', 'a;b', 'x'.repeat(101)])
    expect([name, actorOf(name)]).toEqual([name, null]);
  expect(actorOf(' Шахло ')).toBe('cli:Шахло');
});
