import type { Visitor } from './console-rig.js';
import { serveEmptyPage } from './empty-page.js';

const ROUNDS = 7;

interface Measured {
  ratios: { load: number; step: number };
  text: string;
}

/** The console and an empty React page in turn, in one browser: medians of the times until what was asked for is seen. */
export async function measureBesideEmptyPage(visitor: Visitor, url: string): Promise<Measured> {
  const empty = await serveEmptyPage();
  const { page } = visitor;
  const other = await visitor.context.newPage();
  const times: Record<'load' | 'emptyLoad' | 'step' | 'emptyStep', number[]> = {
    ...{ load: [], emptyLoad: [], step: [], emptyStep: [] },
  };
  const measure = async (of: keyof typeof times, work: () => Promise<unknown>): Promise<void> => {
    // A page behind another is drawn once a second.
    await (of.startsWith('empty') ? other : page).bringToFront();
    const begun = performance.now();
    await work();
    times[of].push(performance.now() - begun);
  };
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      await measure('load', async () => {
        await page.goto(`${url}/console/receipts`);
        await page.locator('.row-link').first().waitFor();
      });
      await measure('emptyLoad', async () => {
        await other.goto(empty.url);
        await other.getByRole('heading').waitFor();
      });
      await measure('step', async () => {
        await page.getByRole('link', { name: 'Registers' }).click();
        await page.locator('.tile').first().waitFor();
      });
      await measure('emptyStep', async () => {
        await other.getByRole('button').click();
        await other.getByText('Pressed 1').waitFor();
      });
    }
  } finally {
    await empty.stop();
  }
  const middle = (of: keyof typeof times): number =>
    times[of].toSorted((one, two) => one - two)[Math.floor(ROUNDS / 2)] ?? 0;
  const load = middle('load') / middle('emptyLoad');
  const step = middle('step') / middle('emptyStep');
  const shown = (of: keyof typeof times): string => middle(of).toFixed(0);
  const text =
    `console beside an empty React page: first load with its list ${load.toFixed(2)} x (${shown('load')} / ${shown('emptyLoad')} ms), ` +
    `step to another screen with its list ${step.toFixed(2)} x (${shown('step')} / ${shown('emptyStep')} ms)`;
  return { ratios: { load, step }, text };
}
