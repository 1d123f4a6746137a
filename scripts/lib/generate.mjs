import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './paths.mjs';
import { runNode } from './run.mjs';
import { fingerprint, isUpToDate, writeStamp } from './stamps.mjs';

const CLIENT_DIR = path.join(ROOT, 'libs', 'database', 'src', 'generated');
const STAMP = path.join(CLIENT_DIR, '.stamp');
const PRISMA = path.join(ROOT, 'node_modules', 'prisma', 'build', 'index.js');

/** @returns {boolean} */
export function isGenerated() {
  return isUpToDate(STAMP, wantedStamp()) && fs.existsSync(path.join(CLIENT_DIR, 'client.ts'));
}

/** Writes the database client from prisma/schema.prisma. */
export async function generateClient() {
  const wanted = wantedStamp();
  await runNode('prisma generate', [PRISMA, 'generate', '--no-hints'], {
    env: {
      ...process.env,
      // The command line insists on a native schema engine and would download it. Generating never runs it: any file does.
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
      CHECKPOINT_DISABLE: '1',
    },
  });
  writeStamp(STAMP, wanted);
}

function wantedStamp() {
  return fingerprint(['prisma/schema.prisma', 'package-lock.json']);
}
