import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Locator } from 'playwright-core';
import type { PrismaService } from '#database';
import { totpAt } from '../../apps/gateway/src/access/people/credentials/totp.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import type { ConsoleRig, Visitor } from './console-rig.js';

export const CLI = join(process.cwd(), 'dist', 'apps', 'gateway', 'src', 'programs', 'cli', 'main.js');
export const PASSWORD = 'correct horse battery';

/** What `npm run cli -- users invite` prints: the link that opens once. */
export async function inviteByCommand(rig: ConsoleRig, email: string, roles: string): Promise<string> {
  const args = ['users', 'invite', '--email', email, '--roles', roles, '--as', 'test'];
  const ofMerchant = roles.startsWith('platform_') ? [] : ['--merchant', rig.system.merchant.merchantId];
  const env = { ...process.env, ...rig.system.programEnv };
  const { stdout } = await promisify(execFile)(process.execPath, [CLI, ...args, ...ofMerchant], { env });
  return (JSON.parse(stdout) as { url: string }).url;
}

/** One person before a browser of its own, as the pages know it. */
export class ConsolePerson {
  password = PASSWORD;
  private secret = '';

  private constructor(
    readonly visitor: Visitor,
    readonly email: string,
    private readonly prisma: PrismaService,
  ) {}

  static async come(rig: ConsoleRig, prisma: PrismaService, email: string): Promise<ConsolePerson> {
    return new ConsolePerson(await rig.person(), email, prisma);
  }

  /** Another person in a new tab of the same browser. */
  async beside(email: string): Promise<ConsolePerson> {
    return new ConsolePerson(await this.visitor.newTab(), email, this.prisma);
  }

  get page(): Visitor['page'] {
    return this.visitor.page;
  }

  /** Opens the link of an invitation, and accepts it with a password and an authenticator app. */
  async accept(link: string, name: string): Promise<void> {
    const { page } = this;
    await page.goto(link);
    await page.getByLabel('Your name').fill(name);
    await page.getByLabel(/^New password/).fill(this.password);
    this.secret = await page.locator('.copyable .code').innerText();
    await page.getByLabel('Code of the authenticator app').fill(totpAt(this.secret, Date.now() / 1_000));
    await page.getByRole('button', { name: 'Accept', exact: true }).click();
    await page.locator('.shell').waitFor();
  }

  /** A code that was not used yet: time goes by as in the database. */
  async code(): Promise<string> {
    await this.prisma.$executeRaw`UPDATE users SET totp_step = 0 WHERE email = ${this.email}`;
    return totpAt(this.secret, Date.now() / 1_000);
  }

  /** Fills the login that is on the screen, be it the page or the dialog over it. */
  async logIn(): Promise<void> {
    const form = this.page.locator('form', { has: this.page.getByLabel('Password') });
    await form.getByLabel('E-mail').fill(this.email);
    await form.getByLabel('Password').fill(this.password);
    await form.getByLabel('Code of the authenticator app').fill(await this.code());
    await form.getByRole('button', { name: 'Log in', exact: true }).click();
    await form.waitFor({ state: 'detached' });
  }

  /** Scans the code that is shown, and confirms it with the new app. */
  async confirmNewApp(dialog: Locator): Promise<void> {
    const secret = await dialog.locator('.copyable .code').innerText();
    await dialog.getByLabel('Code of the authenticator app').fill(totpAt(secret, Date.now() / 1_000));
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    await dialog.waitFor({ state: 'detached' });
    this.secret = secret;
  }

  async logOut(name: string): Promise<void> {
    await this.page.getByRole('button', { name, exact: true }).click();
    // The page itself goes to the login, and may show it before: it must have arrived, or it takes the page from where it is sent next.
    const arrived = this.page.waitForEvent('load', { timeout: 60_000 });
    await this.page.getByRole('menuitem', { name: 'Log out' }).click();
    await arrived;
    await this.page.getByRole('heading', { name: 'Log in' }).waitFor();
  }

  /** The second factor that was shown last counts no more, as after five minutes. */
  async letFactorGrowOld(): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE user_sessions SET stepped_up_at = now() - interval '1 hour'
       WHERE user_id = (SELECT id FROM users WHERE email = ${this.email})`;
    await until(
      'the gateway asks for it again',
      () => this.me(),
      ({ session }) => session.step_up_until === null,
    );
  }

  /** Answers the question for a second factor that a call has put over the screen. */
  async stepUp(): Promise<void> {
    const dialog = this.page.getByRole('dialog', { name: 'Confirm that it is you' });
    await dialog.getByLabel('Code of the authenticator app').fill(await this.code());
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    await dialog.waitFor({ state: 'detached' });
  }

  /** The authenticator of this machine, which needs no finger. */
  async givePasskey(): Promise<void> {
    const cdp = await this.visitor.context.newCDPSession(this.page);
    await cdp.send('WebAuthn.enable');
    await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
  }

  private me(): Promise<{ session: { step_up_until: string | null } }> {
    return this.page.evaluate(async () => {
      const response = await fetch('/v1/me', { headers: { 'fgw-background': '1' } });
      return (await response.json()) as { session: { step_up_until: string | null } };
    });
  }
}
