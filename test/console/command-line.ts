import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { PrismaService } from '#database';
import { Fgw } from '../cli/fgw.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { ConsolePerson, inviteByCommand } from './console-person.js';
import type { ConsoleRig } from './console-rig.js';

/** `fgw login --browser`, from the link that it prints to its end. */
export async function letCommandLineIn(rig: ConsoleRig, prisma: PrismaService): Promise<void> {
  const fgw = new Fgw();
  try {
    const origin = rig.url;
    const login = fgw.start(['login', '--browser', '--no-open', '--url', origin]);
    const printed = await until('the link is printed', login.stderr, (text) => /port=\d+\n/.test(text));
    const [, shown = ''] = /that it shows (\S+):/.exec(printed) ?? [];
    const person = await ConsolePerson.come(rig, prisma, 'terminal@shop.uz');
    await person.accept(await inviteByCommand(rig, 'terminal@shop.uz', 'owner'), 'Kamola');
    await person.logOut('Kamola');
    await person.page.goto(/http\S+/.exec(printed.slice(printed.indexOf('shows')))?.[0] ?? '');
    await person.logIn();
    await person.page.getByText(shown, { exact: true }).waitFor();
    await person.letFactorGrowOld();
    await person.page.getByRole('button', { name: 'Allow' }).click();
    await person.stepUp();
    await person.page.getByText('Done. You may close this window.').waitFor();
    await until(
      'the login is kept',
      () => login.child.exitCode,
      (code) => code !== null,
    );
    expect({ code: login.child.exitCode, said: login.stdout() }).toMatchObject({
      code: 0,
      said: expect.stringContaining('terminal@shop.uz'),
    });
    const file = join(fgw.folder, '.config', 'fgw', 'config.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { token } = (
      JSON.parse(readFileSync(file, 'utf8')) as { profiles: { default: { session: { token: string } } } }
    ).profiles.default.session;
    expect(login.stdout() + login.stderr()).not.toContain(token);
    expect(await fgw.run(['receipts', 'list'])).toMatchObject({ code: 0 });
    expect((await fgw.run(['doctor'])).stdout).toMatch(/✔ access/);
    expect(await fgw.run(['logout'])).toMatchObject({ code: 0 });
    const ask = (): Promise<Response> => fetch(`${origin}/v1/me`, { headers: { authorization: `Bearer ${token}` } });
    await until('the session has ended', ask, ({ status }) => status === 401);
    expect(await fgw.run(['receipts', 'list'])).toMatchObject({ code: 4 });
    // To this machine, and nowhere else.
    expect(person.visitor.trouble.filter((one) => !one.startsWith('asked for http://127.0.0.1:'))).toEqual([]);
    await person.visitor.end();
  } finally {
    await fgw.stop();
  }
}
