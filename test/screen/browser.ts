import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';

/** Debian's package; no browser is ever downloaded. */
const CHROMIUM = '/usr/bin/chromium';
const SCREENSHOTS = join(process.cwd(), '.artifacts', 'screenshots');
const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];

/** Where no chromium is installed the browser tests are reported as skipped; under CI they must run. */
export const describeInBrowser = existsSync(CHROMIUM) || process.env['CI'] === 'true' ? describe : describe.skip;

export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: 120_000 });
}

/** Kept as artifacts: for people to check, no test reads them. */
export function screenshotPath(name: string): string {
  mkdirSync(SCREENSHOTS, { recursive: true });
  return join(SCREENSHOTS, `${name}.png`);
}
