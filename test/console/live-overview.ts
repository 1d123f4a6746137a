import { until } from '../../libs/runtime/src/testing/until.js';
import { startOfToday, type ConsoleRig } from './console-rig.js';

/**
 * What is sold appears in the open overview by itself, and its sums with it.
 *
 * @param sell posts a sale, and gives its id
 */
export async function seeSale(
  rig: ConsoleRig,
  sell: (more: Record<string, unknown>) => Promise<string>,
): Promise<void> {
  const visitor = await rig.visitor();
  const { page } = visitor;
  const readAtMs: number[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/v1/overview')) readAtMs.push(performance.now());
  });
  await visitor.open('');
  await page.waitForURL(/\/overview$/);
  await page.getByText('Live', { exact: true }).waitFor();
  const id = await sell({ external_id: 'live-1' });
  const happened = page.locator('.card', { has: page.getByRole('heading', { name: 'What happens now' }) });
  await happened
    .getByRole('link', { name: 'receipt.registered' })
    .and(page.locator(`[href$="${id}"]`))
    .waitFor();
  const today = page.locator('.card', { has: page.getByRole('heading', { name: 'Today', exact: true }) });
  // The day may end between two readings: both are of the same moment, as often as needed.
  await until(
    'the sum of today has it',
    async () => {
      const path = `/v1/receipts?status=registered&type=sale&limit=100&created_from=${startOfToday()}`;
      const { data } = (await rig.client.get(path)).body as { data?: unknown[] };
      const shown = await today
        .getByRole('link', { name: /receipt/ })
        .first()
        .innerText();
      return { shown: Number.parseInt(shown, 10), sold: data?.length };
    },
    ({ shown, sold }) => shown === sold,
  );
  // The gateway's answer right after the sale may be older than it: it is asked again soon, and not with the idle reading after 30 s.
  const pausesMs = readAtMs.map((atMs, index) => (readAtMs[index + 1] ?? performance.now()) - atMs);
  expect(Math.max(...pausesMs)).toBeLessThan(20_000);
  await today
    .getByRole('link', { name: /receipt/ })
    .first()
    .click();
  await page.waitForURL(/\/receipts\?type=sale&status=registered&created_from=/);
  await page.locator('.row-link').first().waitFor();
  expect(visitor.trouble).toEqual([]);
  await visitor.end();
}
