import fs from 'node:fs';
import { StringDecoder } from 'node:string_decoder';

import { openLog } from './files.mjs';

const SHOWN_PER_MINUTE = 10;
const ERROR_LEVEL = 50;

/**
 * The log file of one run of a program, which writes to it by itself: a pipe through us would break when we are killed,
 * and a logger that flushes into a broken pipe never ends. We read along and show the errors, a flood of them shortened.
 * @param {string} name
 * @param {string} file
 */
export function followChildLog(name, file) {
  const fd = openLog(file);
  const reader = fs.openSync(file, 'r');
  const buffer = Buffer.alloc(64 * 1024);
  const decoder = new StringDecoder('utf8');
  const show = createErrorPrinter(name, file);
  let position = fs.fstatSync(fd).size;
  let rest = '';

  const readAlong = () => {
    for (;;) {
      const count = fs.readSync(reader, buffer, 0, buffer.length, position);
      if (count === 0) return;
      position += count;
      const lines = (rest + decoder.write(buffer.subarray(0, count))).split('\n');
      rest = lines.pop() ?? '';
      lines.map(errorIn).forEach((message) => message !== null && show(message));
    }
  };
  const timer = setInterval(readAlong, 250);
  return {
    /** For the program's stdout and stderr. */
    fd,
    close() {
      clearInterval(timer);
      readAlong();
      for (const open of [fd, reader]) fs.closeSync(open);
    },
  };
}

/**
 * @param {string} name
 * @param {string} file
 */
function createErrorPrinter(name, file) {
  let minute = 0;
  let shown = 0;
  return (/** @type {string} */ message) => {
    const now = Math.floor(Date.now() / 60_000);
    if (now !== minute) [minute, shown] = [now, 0];
    shown += 1;
    if (shown <= SHOWN_PER_MINUTE) console.error(`  [${name}] ${message}`);
    if (shown === SHOWN_PER_MINUTE) console.error(`  [${name}] … more in ${file}`);
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
