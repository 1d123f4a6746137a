import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './paths.mjs';
import { runNode } from './run.mjs';
import { fingerprint, isUpToDate, writeStamp } from './stamps.mjs';

const CLIENT_DIR = path.join(ROOT, 'libs', 'database', 'src', 'generated');
const STAMP = path.join(CLIENT_DIR, '.stamp');
const BENCH_SCHEMA = path.join('bench', 'obvious', 'schema.prisma');
const BENCH_CLIENT_DIR = path.join(ROOT, 'bench', 'obvious', 'generated');
const BENCH_STAMP = path.join(BENCH_CLIENT_DIR, '.stamp');
const SDK_TYPES = path.join(ROOT, 'libs', 'sdk', 'src', 'generated', 'api.ts');
const SDK_STAMP = path.join(path.dirname(SDK_TYPES), '.stamp');
const OPENAPI_TYPESCRIPT = path.join(ROOT, 'node_modules', 'openapi-typescript', 'bin', 'cli.js');
const PRISMA = path.join(ROOT, 'node_modules', 'prisma', 'build', 'index.js');

/** @returns {boolean} */
export function isGenerated() {
  return isClientGenerated() && areSdkTypesGenerated() && isBenchClientGenerated();
}

/** Writes the generated sources: the database client, the types of the SDK, and the client of the build that benches compare with. */
export async function generate() {
  if (!isClientGenerated()) await generateClient();
  if (!areSdkTypesGenerated()) await generateSdkTypes();
  if (!isBenchClientGenerated()) await generateBenchClient();
}

function isClientGenerated() {
  return isUpToDate(STAMP, wantedStamp()) && fs.existsSync(path.join(CLIENT_DIR, 'client.ts'));
}

function areSdkTypesGenerated() {
  return isUpToDate(SDK_STAMP, wantedSdkStamp()) && fs.existsSync(SDK_TYPES);
}

/** An installation without the benches needs none. */
function isBenchClientGenerated() {
  return !fs.existsSync(path.join(ROOT, BENCH_SCHEMA)) || isUpToDate(BENCH_STAMP, wantedBenchStamp());
}

/** Writes the database client from prisma/schema.prisma. */
async function generateClient() {
  const wanted = wantedStamp();
  await prismaGenerate([]);
  writeStamp(STAMP, wanted);
}

async function generateBenchClient() {
  const wanted = wantedBenchStamp();
  await prismaGenerate(['--schema', BENCH_SCHEMA]);
  writeStamp(BENCH_STAMP, wanted);
}

/** @param {string[]} args */
async function prismaGenerate(args) {
  await runNode('prisma generate', [PRISMA, 'generate', '--no-hints', ...args], {
    env: {
      ...process.env,
      // The command line insists on a native schema engine and would download it. Generating never runs it: any file does.
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
      CHECKPOINT_DISABLE: '1',
    },
  });
}

/** Writes the types of libs/sdk from docs/openapi.json. */
async function generateSdkTypes() {
  const wanted = wantedSdkStamp();
  await runNode('openapi-typescript', [OPENAPI_TYPESCRIPT, 'docs/openapi.json', '--output', SDK_TYPES]);
  writeStamp(SDK_STAMP, wanted);
}

function wantedStamp() {
  return fingerprint(['prisma/schema.prisma', 'package-lock.json']);
}

function wantedBenchStamp() {
  return fingerprint([BENCH_SCHEMA, 'package-lock.json']);
}

function wantedSdkStamp() {
  return fingerprint(['docs/openapi.json', 'package-lock.json']);
}
