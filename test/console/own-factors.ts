import type { PrismaService } from '#database';
import { ConsolePerson, inviteByCommand, PASSWORD } from './console-person.js';
import type { ConsoleRig } from './console-rig.js';

/** A person changes its password and its authenticator app. */
export async function changeFactors(rig: ConsoleRig, prisma: PrismaService): Promise<void> {
  const person = await ConsolePerson.come(rig, prisma, 'factors@shop.uz');
  await person.accept(await inviteByCommand(rig, 'factors@shop.uz', 'support'), 'Rustam');
  const { page } = person;
  const dialog = page.getByRole('dialog');
  await person.visitor.open('/account');
  await page.getByRole('button', { name: 'Change the password' }).click();
  await dialog.getByLabel('Password until now').fill('not the password');
  await dialog.getByLabel(/^New password/).fill('another horse battery');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('alert').first().waitFor();
  await dialog.getByLabel('Password until now').fill(PASSWORD);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  person.password = 'another horse battery';

  await page.getByRole('button', { name: 'Set up another authenticator app' }).click();
  await dialog.getByRole('button', { name: 'Set up another authenticator app' }).click();
  await person.confirmNewApp(dialog);
  await dialog.waitFor({ state: 'detached' });
  await person.logOut('Rustam');
  await page.goto(`${rig.consoleUrl}/account`);
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  await person.logIn();
  await page.getByText('factors@shop.uz').waitFor();
  expect(person.visitor.trouble).toEqual([]);
  await person.visitor.end();
}
