import { spawn } from 'node:child_process';

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Without a shell. A machine that has no browser is no fault: the link has been printed. */
export function openBrowser(url: string): void {
  const [file, ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(file, [...args, url], { stdio: 'ignore', detached: true });
  child.once('error', () => undefined);
  child.unref();
}
