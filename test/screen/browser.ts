import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CHROMIUM } from './start-browser.js';

const SCREENSHOTS = join(process.cwd(), '.artifacts', 'screenshots');

/** Where no chromium is installed the browser tests are reported as skipped; under CI they must run. */
export const describeInBrowser = existsSync(CHROMIUM) || process.env['CI'] === 'true' ? describe : describe.skip;

/** Kept as artifacts: for people to check, no test reads them. */
export function screenshotPath(name: string): string {
  mkdirSync(SCREENSHOTS, { recursive: true });
  return join(SCREENSHOTS, `${name}.png`);
}
