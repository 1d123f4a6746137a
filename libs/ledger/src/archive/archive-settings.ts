import { origin, parsed, path, SettingsError, text, type Settings } from '#runtime';
import { ArchiveFiles } from './archive-files.js';
import { BucketStore } from './bucket-store.js';
import type { Bucket } from './s3-objects.js';
import { FolderStore } from './folder-store.js';

/** Where archives are: those of relays, which write them, and of the operator's commands. .env.example says what each is for. */
export const ARCHIVE_SETTINGS = {
  ARCHIVE_DIR: path().optional(),
  ARCHIVE_BUCKET: parsed(parseBucket).optional(),
  ARCHIVE_ENDPOINT: origin(['https', 'http']).optional(),
  ARCHIVE_REGION: text().optional(),
  ARCHIVE_ACCESS_KEY_ID: text().optional(),
  ARCHIVE_SECRET_ACCESS_KEY: text().optional(),
};

export type ArchiveSettings = Settings<typeof ARCHIVE_SETTINGS>;

/** Of a bucket, what Amazon S3 takes: lower-case letters, digits, dots and hyphens. */
const BUCKET_NAME = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
/** The characters that need no care in any store. */
const PREFIX = /^[A-Za-z0-9!_.*'()-]+(\/[A-Za-z0-9!_.*'()-]+)*$/;
const MOST_PREFIX = 512;

/** @throws Error that says what it must be */
function parseBucket(raw: string): Pick<Bucket, 'name' | 'prefix'> {
  const [name = '', ...rest] = raw.replace(/\/$/, '').split('/');
  const prefix = rest.join('/');
  const isPrefix = prefix.length <= MOST_PREFIX && (prefix === '' ? rest.length === 0 : PREFIX.test(prefix));
  // A segment of dots is rewritten on its way by more than one client and server.
  if (!BUCKET_NAME.test(name) || !isPrefix || rest.some((segment) => /^\.+$/.test(segment)))
    throw new Error(
      'the name of a bucket, such as fiscal-archive, or with what its names begin with, fiscal-archive/prod',
    );
  return { name, prefix: prefix === '' ? '' : `${prefix}/` };
}

/** @throws SettingsError where they contradict each other */
export function checkArchiveSettings(settings: ArchiveSettings): void {
  const { ARCHIVE_DIR, ARCHIVE_BUCKET, ARCHIVE_ACCESS_KEY_ID, ARCHIVE_SECRET_ACCESS_KEY } = settings;
  const faults: { key: string; fault: string }[] = [];
  if (ARCHIVE_DIR !== undefined && ARCHIVE_BUCKET !== undefined)
    faults.push({ key: 'ARCHIVE_BUCKET', fault: 'is set beside ARCHIVE_DIR: an archive is in one place' });
  if ((ARCHIVE_ACCESS_KEY_ID === undefined) !== (ARCHIVE_SECRET_ACCESS_KEY === undefined))
    faults.push({
      key: ARCHIVE_ACCESS_KEY_ID === undefined ? 'ARCHIVE_ACCESS_KEY_ID' : 'ARCHIVE_SECRET_ACCESS_KEY',
      fault: 'is missing: a key has two parts',
    });
  for (const key of ['ARCHIVE_ENDPOINT', 'ARCHIVE_REGION', 'ARCHIVE_ACCESS_KEY_ID'] as const)
    if (settings[key] !== undefined && ARCHIVE_BUCKET === undefined)
      faults.push({ key, fault: 'is set without ARCHIVE_BUCKET' });
  if (faults.length > 0) throw new SettingsError(faults);
}

export function archiveInFolder(folder: string): ArchiveFiles {
  return new ArchiveFiles(new FolderStore(folder));
}

/** Null: nothing is archived. */
export function archiveOf(settings: Partial<ArchiveSettings>): ArchiveFiles | null {
  const { ARCHIVE_DIR: folder, ARCHIVE_BUCKET: bucket, ARCHIVE_ENDPOINT: endpoint, ARCHIVE_REGION: region } = settings;
  const { ARCHIVE_ACCESS_KEY_ID: accessKeyId, ARCHIVE_SECRET_ACCESS_KEY: secretAccessKey } = settings;
  if (folder !== undefined) return archiveInFolder(folder);
  if (bucket === undefined) return null;
  const keys =
    accessKeyId === undefined || secretAccessKey === undefined ? undefined : { accessKeyId, secretAccessKey };
  return new ArchiveFiles(new BucketStore({ ...bucket, endpoint, region, keys }));
}
