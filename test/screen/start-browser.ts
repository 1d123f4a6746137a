import { chromium, type Browser } from 'playwright-core';

/** Debian's package, the browser without its windows; none is ever downloaded. */
export const CHROMIUM = '/usr/bin/chromium-headless-shell';
const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];

export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: 120_000 });
}
