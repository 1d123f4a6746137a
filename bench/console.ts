import type { Page } from 'playwright-core';
import { ConsoleRig, type Visitor } from '../test/console/console-rig.js';
import type { Figure } from './report.js';
import { fillReceipts, sellForYears } from './scale.js';
import { percentile } from './statistics.js';

export interface ConsoleListOptions {
  /** Receipts of the merchant before the screen, growing. */
  sizes: readonly number[];
  rounds: number;
}

/** Thirty pages of the list. */
const SCROLLED_ROWS = 3_000;
const TARGET = '≤ 1.3';

interface Scrolled {
  /** Between two drawings of the page, ms. */
  frames: number[];
  ms: number;
  lines: number;
}

/**
 * The list of receipts in a real browser before the whole system, over tables that grow: whether what a person sees and how the page
 * moves depends on how many receipts there are. From the click, or the address, to the row on the screen.
 */
export async function benchConsole({ sizes, rounds }: ConsoleListOptions): Promise<Figure[]> {
  const rig = await ConsoleRig.start();
  try {
    await sellForYears(rig.system);
    const first = await rig.client.post('/v1/receipts', rig.client.saleOf(0), { prefer: 'wait=30' });
    if (first.status !== 201) throw new Error(`the first sale was answered with ${first.status}`);
    const template = first.body.id ?? '';
    const largest = sizes.at(-1) ?? 0;
    const results: Map<string, Figure>[] = [];
    let filled = 0;
    for (const size of sizes) {
      await fillReceipts(rig.system, { template, from: filled + 1, to: size, largest });
      filled = size;
      // Filling takes longer than a token lives.
      rig.client.forgetToken();
      const visitor = await rig.visitor();
      results.push(await measure(visitor, size, rounds));
      if (visitor.trouble.length > 0) throw new Error(visitor.trouble.join('; '));
      await visitor.end();
    }
    return compared(results);
  } finally {
    await rig.stop();
  }
}

function compared(results: readonly Map<string, Figure>[]): Figure[] {
  const [smallest, largest] = [results[0], results.at(-1)];
  return [...(smallest ?? [])].flatMap(([key, one]) => [
    ...results.flatMap((result) => result.get(key) ?? []),
    {
      name: `${key}, largest to smallest`,
      value: (largest?.get(key)?.value ?? Number.NaN) / one.value,
      unit: '×',
      target: TARGET,
    },
  ]);
}

async function measure(visitor: Visitor, rows: number, rounds: number): Promise<Map<string, Figure>> {
  const { page } = visitor;
  const measured = new Map<string, Figure>();
  const keep = (name: string, values: readonly number[], percent: number, unit: string): void => {
    const value = percentile([...values], percent);
    measured.set(name, { name: `${name}, ${rows} receipts`, value, unit });
  };
  const timed = async (name: string, work: () => Promise<void>): Promise<void> => {
    await work();
    const taken: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const begun = performance.now();
      await work();
      taken.push(performance.now() - begun);
    }
    keep(name, taken, 50, 'ms');
  };
  const shows = async (path: string): Promise<void> => {
    await visitor.open(path);
    await page.locator('.row-link').first().waitFor();
  };
  await timed('the list opens', () => shows('/receipts'));
  await timed('a filter by status', () => shows('/receipts?status=rejected'));
  await timed('a search by the merchant’s number', () => shows(`/receipts?external_id=scale-${Math.floor(rows / 2)}`));
  const runs: Scrolled[] = [];
  for (let round = 0; round < Math.min(rounds, 3); round += 1) {
    await shows('/receipts');
    runs.push(await scroll(page));
  }
  keep(
    `${SCROLLED_ROWS} rows are scrolled through`,
    runs.map(({ ms }) => ms),
    50,
    'ms',
  );
  keep(
    'p95 of the pauses between two drawings meanwhile',
    runs.flatMap(({ frames }) => frames),
    95,
    'ms',
  );
  keep(
    'rows that the page holds',
    runs.map(({ lines }) => lines),
    50,
    '',
  );
  return measured;
}

/** To the end of what is there, again and again, as fast as pages come. */
function scroll(page: Page): Promise<Scrolled> {
  return page.evaluate(`(async () => {
    const list = document.querySelector('.grid-scroll');
    const rows = () => list.querySelector('.grid-body').offsetHeight / 44;
    const frames = [];
    const begun = performance.now();
    for (let last = begun; rows() < ${SCROLLED_ROWS}; ) {
      list.scrollTo(0, list.scrollHeight);
      const now = await new Promise(requestAnimationFrame);
      frames.push(now - last);
      last = now;
      if (now - begun > 120000) throw new Error('the list does not go on');
    }
    return { frames, ms: performance.now() - begun, lines: document.querySelectorAll('.grid-line').length };
  })()`);
}
