// Promise: settings of the archive that contradict each other stop a program at its start, by name, and a bucket's name cannot lead elsewhere.
import { readSettings } from '#runtime';
import { ARCHIVE_SETTINGS, archiveOf, checkArchiveSettings, type ArchiveSettings } from './archive-settings.js';

function read(env: Record<string, string>): ArchiveSettings {
  const settings = readSettings(ARCHIVE_SETTINGS, env);
  checkArchiveSettings(settings);
  return settings;
}

test('without a folder and a bucket there is no archive; with either there is one', () => {
  expect(archiveOf(read({}))).toBeNull();
  expect(archiveOf(read({ ARCHIVE_DIR: '/archive' }))?.maxCharacters).toBe(64 * 2 ** 20);
  expect(archiveOf(read({ ARCHIVE_BUCKET: 'fiscal-archive' }))?.maxCharacters).toBe(16 * 2 ** 20);
});

test.each([
  ['fiscal-archive', { name: 'fiscal-archive', prefix: '' }],
  ['fiscal-archive/', { name: 'fiscal-archive', prefix: '' }],
  ['fiscal.archive/prod/uz', { name: 'fiscal.archive', prefix: 'prod/uz/' }],
])('the bucket %s', (given, expected) => {
  expect(read({ ARCHIVE_BUCKET: given }).ARCHIVE_BUCKET).toEqual(expected);
});

test.each([
  ...['Archive', 'a', 's3://fiscal-archive', 'fiscal-archive//prod', 'fiscal-archive/../other', 'fiscal-archive/./a'],
  ...['fiscal-archive/a?b', 'fiscal-archive/a b', '/prod', `fiscal-archive/${'a'.repeat(600)}`],
])('the bucket %s is refused', (given) => {
  expect(() => read({ ARCHIVE_BUCKET: given })).toThrow(/ARCHIVE_BUCKET must be the name of a bucket/);
});

const BUCKET = { ARCHIVE_BUCKET: 'fiscal-archive' };
test.each<[Record<string, string>, RegExp]>([
  [{ ...BUCKET, ARCHIVE_DIR: '/archive' }, /ARCHIVE_BUCKET is set beside ARCHIVE_DIR/],
  [{ ...BUCKET, ARCHIVE_ACCESS_KEY_ID: 'id' }, /ARCHIVE_SECRET_ACCESS_KEY is missing/],
  [{ ...BUCKET, ARCHIVE_SECRET_ACCESS_KEY: 'secret' }, /ARCHIVE_ACCESS_KEY_ID is missing/],
  [{ ARCHIVE_ENDPOINT: 'https://s3.example' }, /ARCHIVE_ENDPOINT is set without ARCHIVE_BUCKET/],
  [{ ...BUCKET, ARCHIVE_ENDPOINT: 'https://s3.example/path' }, /ARCHIVE_ENDPOINT must be/],
])('%j stops the start', (env, message) => {
  expect(() => read(env)).toThrow(message);
});
