// Promise: a script that is asked how it is called, or is called wrongly, says so and begins nothing.
import { spawnSync } from 'node:child_process';

const SCRIPTS = ['start', 'start-one', 'migrate', 'build', 'generate', 'bench', 'faults', 'test', 'game-day'];

/** Nothing that it could begin is done within that time and with that little output. */
function called(script: string, ...args: string[]): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [`scripts/${script}.mjs`, ...args], {
    encoding: 'utf8',
    timeout: 20_000,
  });
  return { code: status, out: stdout, err: stderr };
}

test.each(SCRIPTS)('%s says how it is called', (script) => {
  const { code, out, err } = called(script, '--help');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/^Usage: npm .+\n$/);
});

test.each(SCRIPTS)('%s refuses an option that it does not know, with its name', (script) => {
  const { code, out, err } = called(script, '--nope');
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(/'--nope'.* Usage: npm /);
});
