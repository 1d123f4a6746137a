import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { endsWithin } from '#runtime';
import { LANGUAGES } from './console-rig.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Playwright waits without end for a script in a page and for a new size of it; a screen takes about half a second. */
const SCREEN_MS = 120_000;
const SPINNER = '.state .spinner';
const GROUND = 'getComputedStyle(document.body).backgroundColor';
/** Rules of axe that ask for colours. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];
/** Rules of axe whose answer depends on the words of a page: names of things, its language, and what scrolls where they are long. */
const OF_WORDS = [
  ...['aria-command-name', 'aria-dialog-name', 'aria-input-field-name', 'aria-meter-name', 'aria-progressbar-name'],
  ...['aria-toggle-field-name', 'aria-tooltip-name', 'aria-treeitem-name', 'button-name', 'input-button-name'],
  ...['link-name', 'select-name', 'summary-name', 'label', 'label-title-only', 'label-content-name-mismatch'],
  ...['image-alt', 'input-image-alt', 'object-alt', 'role-img-alt', 'svg-img-alt', 'frame-title', 'document-title'],
  ...['empty-heading', 'empty-table-header', 'table-duplicate-name', 'landmark-unique', 'scrollable-region-focusable'],
  ...['html-has-lang', 'html-lang-valid', 'html-xml-lang-mismatch', 'valid-lang'],
];

type Rules = 'all' | 'words';

/** What a screen is held to: in one language to all rules, in each other one to those that its words can break. */
export function rulesIn(language: (typeof LANGUAGES)[number]): Rules {
  return language === LANGUAGES[0] ? 'all' : 'words';
}

/**
 * Shows a screen at the width of a desk, where its structure, names and contrasts are judged, and at 360 px, where nothing may be cut off.
 * It is shown in the light theme; the dark one differs in colours alone (`light-dark()` in the style sheet), so only these are judged in it,
 * on the page as it stands.
 *
 * @param rules `words`: what has been judged in another language by all rules; its widths are judged in each
 * @param show opens the screen and waits until what it loads is there
 * @returns what is wrong with it, with the elements, under the name given
 */
export async function faultsOf(page: Page, named: string, rules: Rules, show: () => Promise<void>): Promise<string[]> {
  let step = '';
  const judge = async (): Promise<string[]> => {
    step = 'wide';
    await page.setViewportSize({ width: 1440, height: 900 });
    step = 'shown';
    await show();
    step = 'judged';
    // Not a script of the page: its policy would refuse one.
    await page.evaluate(AXE);
    const faults = await violationsOf(page, rules === 'all' ? null : OF_WORDS);
    if (rules === 'all') {
      step = 'dark';
      await becomeDark(page);
      faults.push(...(await violationsOf(page, OF_COLOURS)).map((fault) => `dark: ${fault}`));
    }
    step = 'narrow';
    await page.setViewportSize({ width: 360, height: 740 });
    await page.locator(SPINNER).first().waitFor({ state: 'detached' });
    step = 'measured';
    const overflowPx = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    if (overflowPx > 0) faults.push(`${overflowPx} px too wide`);
    return faults.map((fault) => `${named}: ${fault}`);
  };
  const judged = judge();
  if (!(await endsWithin(judged, SCREEN_MS))) throw new Error(`${named}: was not ${step} within ${SCREEN_MS} ms`);
  return judged;
}

/** As the switch of the theme does. */
async function becomeDark(page: Page): Promise<void> {
  const before = await page.evaluate<string>(GROUND);
  await page.evaluate(`document.documentElement.dataset.theme = 'dark'`);
  expect(await page.evaluate<string>(GROUND)).not.toBe(before);
}

interface Violation {
  id: string;
  help: string;
  nodes: { html: string }[];
}

/** What is wrong with the page for people who cannot see, or not well, by these rules or all; each with the elements. */
async function violationsOf(page: Page, rules: readonly string[] | null): Promise<string[]> {
  return page.evaluate(async (values) => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: Violation[] }> };
    };
    const { violations } = await axe.run(values === null ? {} : { runOnly: { type: 'rule', values } });
    return violations.map(
      ({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes
          .map(({ html }) => html)
          .join(' | ')
          .slice(0, 600)}`,
    );
  }, rules);
}
