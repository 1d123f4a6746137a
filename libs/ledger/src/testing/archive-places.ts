import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { ArchiveFiles } from '../archive/archive-files.js';
import { archiveOf, type ArchiveSettings } from '../archive/archive-settings.js';

/** A place of archives, and a way to its files beside that of the programs. */
export interface ArchivePlace {
  settings: Partial<ArchiveSettings>;
  /** An empty place of the same kind. */
  another(): Promise<Partial<ArchiveSettings>>;
  list(): Promise<string[]>;
  get(file: string): Promise<Buffer>;
  put(file: string, bytes: Buffer): Promise<void>;
  remove(file: string): Promise<void>;
  /** Leaves no file. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

export const ARCHIVE_PLACES: readonly [string, () => Promise<ArchivePlace>][] = [
  ['a folder', openFolder],
  ['a bucket', openBucket],
];

/** The archive of a place. */
export function archiveIn(settings: Partial<ArchiveSettings>): ArchiveFiles {
  const files = archiveOf(settings);
  if (!files) throw new Error('the test has no place for archives');
  return files;
}

/** The rows of an archive, of which nothing is known but its manifest. */
export async function* rowsIn(files: ArchiveFiles, name: string, atOnce: number): AsyncGenerator<string[]> {
  const manifest = await files.manifest(name);
  if (!manifest) throw new Error(`${name} has no manifest`);
  yield* files.read(name, atOnce, manifest);
}

export async function openFolder(): Promise<ArchivePlace> {
  const folders: string[] = [];
  const make = async (): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'archive-'));
    folders.push(folder);
    return folder;
  };
  const folder = await make();
  const remove = (file: string): Promise<void> => rm(join(folder, file), { force: true });
  return {
    settings: { ARCHIVE_DIR: folder },
    another: async () => ({ ARCHIVE_DIR: await make() }),
    list: () => readdir(folder),
    get: (file) => readFile(join(folder, file)),
    put: (file, bytes) => writeFile(join(folder, file), bytes),
    remove,
    empty: async () => {
      for (const file of await readdir(folder)) await remove(file);
    },
    close: async () => {
      for (const one of folders) await rm(one, { recursive: true, force: true });
    },
  };
}

/** Bucket and keys of s3rver, a server that others wrote; it refuses requests whose signature is not right. */
const KEYS = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
const BUCKETS = ['fiscal-archive', 'other-archive'] as const;

export class OwnBucketServer {
  private constructor(
    private readonly process: ChildProcess,
    private readonly folder: string,
    readonly endpoint: string,
  ) {}

  static async start(): Promise<OwnBucketServer> {
    const folder = await mkdtemp(join(tmpdir(), 's3rver-'));
    const options = {
      ...{ directory: folder, address: '127.0.0.1', port: 0, silent: true },
      configureBuckets: BUCKETS.map((name) => ({ name, configs: [] })),
    };
    const script = `
      const Server = require('@20minutes/s3rver');
      new Server(${JSON.stringify(options)}).run().then(({ port }) => console.log(port));`;
    const process = spawn(globalThis.process.execPath, ['--input-type=commonjs', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    for await (const port of createInterface(process.stdout))
      return new OwnBucketServer(process, folder, `http://127.0.0.1:${port}`);
    throw new Error('the server of buckets has not started');
  }

  /** From its folder: it takes no signature of this version of the client over the parameters of a listing. */
  async list(bucket: string, prefix: string): Promise<string[]> {
    const files = await readdir(join(this.folder, bucket, prefix)).catch(() => []);
    return files.flatMap((file) => /^(.+)\._S3rver_object$/.exec(file)?.[1] ?? []);
  }

  suspend(): void {
    this.process.kill('SIGSTOP');
  }

  resume(): void {
    this.process.kill('SIGCONT');
  }

  async close(): Promise<void> {
    const ended = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await ended;
    await rm(this.folder, { recursive: true, force: true });
  }
}

export async function openBucket(): Promise<ArchivePlace> {
  const server = await OwnBucketServer.start();
  const [name, other] = BUCKETS;
  const prefix = 'prod/';
  const client = new S3Client({
    ...{ endpoint: server.endpoint, forcePathStyle: true, region: 'us-east-1', credentials: KEYS },
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
  const keyOf = (file: string): { Bucket: string; Key: string } => ({ Bucket: name, Key: `${prefix}${file}` });
  const settingsOf = (bucket: string): Partial<ArchiveSettings> => ({
    ...{ ARCHIVE_BUCKET: { name: bucket, prefix }, ARCHIVE_ENDPOINT: server.endpoint },
    ...{ ARCHIVE_ACCESS_KEY_ID: KEYS.accessKeyId, ARCHIVE_SECRET_ACCESS_KEY: KEYS.secretAccessKey },
  });
  const list = (): Promise<string[]> => server.list(name, prefix);
  const remove = async (file: string): Promise<void> => {
    await client.send(new DeleteObjectCommand(keyOf(file)));
  };
  return {
    settings: settingsOf(name),
    another: () => Promise.resolve(settingsOf(other)),
    list,
    get: async (file) => {
      const { Body: body } = await client.send(new GetObjectCommand(keyOf(file)));
      return Buffer.from((await body?.transformToByteArray()) ?? []);
    },
    put: async (file, bytes) => {
      await client.send(new PutObjectCommand({ ...keyOf(file), Body: bytes }));
    },
    remove,
    empty: async () => {
      for (const file of await list()) await remove(file);
    },
    close: async () => {
      client.destroy();
      await server.close();
    },
  };
}
