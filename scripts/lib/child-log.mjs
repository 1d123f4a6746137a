import fs from 'node:fs';

import { openLog } from './files.mjs';

const SHOWN_PER_MINUTE = 10;
const ERROR_LEVEL = 50;

/**
 * Takes what a program prints: all of it into the log file, errors also onto the console, a flood of them shortened.
 * @param {string} name
 * @param {string} file
 */
export function createChildLog(name, file) {
  const log = openLog(file);
  let rest = '';
  let minute = 0;
  let shown = 0;

  /** @param {string} line */
  const show = (line) => {
    const now = Math.floor(Date.now() / 60_000);
    if (now !== minute) [minute, shown] = [now, 0];
    shown += 1;
    if (shown <= SHOWN_PER_MINUTE) console.error(`  [${name}] ${line}`);
    if (shown === SHOWN_PER_MINUTE) console.error(`  [${name}] … more in ${file}`);
  };

  return {
    /** @param {string} chunk */
    write(chunk) {
      fs.writeSync(log, chunk);
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const message = errorIn(line);
        if (message !== null) show(message);
      }
    },
    close() {
      fs.closeSync(log);
    },
  };
}

/**
 * A program logs one JSON object a line; whatever else it prints comes from Node.js itself and is an error.
 * @param {string} line
 * @returns {string | null}
 */
function errorIn(line) {
  if (line.trim() === '') return null;
  if (!line.startsWith('{')) return isNoise(line) ? null : line;
  try {
    const { level, msg, err } = JSON.parse(line);
    const isError = typeof level === 'number' ? level >= ERROR_LEVEL : level === 'error' || level === 'fatal';
    return isError ? `${msg ?? ''}${err?.message ? `: ${err.message}` : ''}` : null;
  } catch {
    // Not JSON after all: better shown than lost.
    return line;
  }
}

/** @param {string} line */
function isNoise(line) {
  return /ExperimentalWarning|node --trace-warnings/.test(line);
}
