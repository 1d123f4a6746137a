import type { Page } from 'playwright-core';
import { inviteByCommand, type ConsolePerson } from './console-person.js';
import { LANGUAGES, type ConsoleRig } from './console-rig.js';
import { faultsOf, rulesIn } from './judge-screen.js';

/** As the switch of the language does. */
async function keepLanguage(page: Page, language: string): Promise<void> {
  await page.evaluate(`localStorage.setItem('console-language', ${JSON.stringify(language)})`);
}

/** The screens that only people have, not clients of the API. */
export async function readByAll(rig: ConsoleRig, owner: ConsolePerson): Promise<void> {
  const link = await inviteByCommand(rig, 'reader@shop.uz', 'support');
  const guest = await rig.person();
  const wrong: string[] = [];
  const judge = async ({ page }: Pick<typeof guest, 'page'>, path: string, ready: string): Promise<void> => {
    for (const language of LANGUAGES) {
      await keepLanguage(page, language);
      const show = async (): Promise<void> => {
        await page.goto(path);
        await page.reload();
        await page.locator(ready).first().waitFor();
        await page.locator('.state .spinner').first().waitFor({ state: 'detached' });
      };
      wrong.push(...(await faultsOf(page, `${path} ${language}`, rulesIn(language), show)));
    }
    await keepLanguage(page, 'en');
  };
  await guest.page.goto(`${rig.consoleUrl}/login`);
  await judge(guest, `${rig.consoleUrl}/login`, 'form');
  await judge(guest, link, 'form');
  await guest.end();
  for (const path of ['/account', '/access?view=approvals', '/access?view=users'])
    await judge(owner, `${rig.consoleUrl}${path}`, '.card');
  await owner.page.setViewportSize({ width: 1440, height: 900 });
  await owner.page.reload();
  expect(wrong).toEqual([]);
}
