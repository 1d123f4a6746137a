// Promise: the operator's commands as they are built reach an archive in a bucket, and say why where they do not.
import { randomBytes } from 'node:crypto';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { openBucket, type ArchivePlace } from '../../libs/ledger/src/testing/archive-places.js';
import { commandLine } from './command-line.js';

const secretsKey = randomBytes(32).toString('base64');
let database: TestDatabase;
let bucket: ArchivePlace;

beforeAll(async () => {
  bucket = await openBucket();
  database = await createTestDatabase();
});
afterAll(async () => {
  await database?.drop();
  await bucket?.close();
});

test.each([
  ['fiscal-archive/prod', { state: 'ok' }],
  ['no-such-bucket', { state: 'warn', found: expect.stringContaining('NoSuchBucket') as unknown }],
])('the bucket %s', async (name, expected) => {
  const settings = { ...bucket.settings, ARCHIVE_BUCKET: name };
  const { stdout } = await commandLine({ database, secretsKey, settings }, 'doctor');
  const { findings } = JSON.parse(stdout) as { findings: { check: string }[] };
  expect(findings.find(({ check }) => check === 'archive')).toMatchObject(expected);
});
