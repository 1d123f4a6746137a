import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './paths.mjs';
import { fingerprint, isUpToDate, writeStamp } from './stamps.mjs';

const CLIENT_DIR = path.join(ROOT, 'libs', 'database', 'src', 'generated');
const STAMP = path.join(CLIENT_DIR, '.stamp');
const PRISMA = path.join(ROOT, 'node_modules', 'prisma', 'build', 'index.js');

/**
 * Writes the database client from prisma/schema.prisma, unless it is there already.
 * @param {{ force?: boolean, output?: string }} [options]
 * @returns {boolean} whether anything had to be done
 */
export function generateClient({ force = false } = {}) {
  const wanted = fingerprint(['prisma/schema.prisma', 'package-lock.json']);
  if (!force && isUpToDate(STAMP, wanted) && fs.existsSync(path.join(CLIENT_DIR, 'client.ts'))) return false;
  const run = spawnSync(process.execPath, [PRISMA, 'generate', '--no-hints'], {
    cwd: ROOT,
    encoding: 'utf8',
    env: {
      ...process.env,
      // The command line insists on a native schema engine and would download it. Generating never runs it: any file does.
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
      CHECKPOINT_DISABLE: '1',
    },
  });
  if (run.status !== 0) throw new Error(`prisma generate failed:\n${run.stdout}${run.stderr}`);
  writeStamp(STAMP, wanted);
  return true;
}
