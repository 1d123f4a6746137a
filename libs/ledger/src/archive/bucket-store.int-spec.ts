// Promise: a bucket that is away, shut, silent, endless or forgetful is never taken for one without the file, and never for one that has it.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { answer, MisbehavingServer, type Reaction } from '../../../local-api/src/testing/misbehaving-server.js';
import { until } from '../../../runtime/src/testing/until.js';
import { archiveIn, ARCHIVE_PLACES, OwnBucketServer, rowsIn, type ArchivePlace } from '../testing/archive-places.js';
import { ArchiveFiles, type Recorded } from './archive-files.js';
import { StoreUnavailable } from './archive-store.js';
import { BucketStore } from './bucket-store.js';
import { S3Objects, type Bucket } from './s3-objects.js';

const NAME = `attempts-${'1'.repeat(26)}`;
const KEYS = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
const SILENT_MS = 300;
const bucketAt = (endpoint: string, over: Partial<Bucket> = {}): Bucket => ({
  ...{ name: 'fiscal-archive', prefix: 'prod/', endpoint, keys: KEYS },
  ...over,
});

/** A line has all that JSON leaves as it is, separators of lines among it. */
const LINES = ['{"n": 1, "чек": "1\u2028\u2029\u0085"}', '{}', JSON.stringify({ bytes: 'é'.repeat(200_000) })];

describe.each(ARCHIVE_PLACES)('%s', (_kind, open) => {
  let place: ArchivePlace;
  let files: ArchiveFiles;
  beforeAll(async () => {
    place = await open();
    files = archiveIn(place.settings);
  });
  afterAll(() => place?.close());
  afterEach(() => place.empty());

  async function write(lines: readonly string[]): Promise<void> {
    const writer = await files.begin(NAME);
    for (const [n, line] of lines.entries()) await writer.add({ id: `att_${String(n)}`, line });
    expect(await writer.finish()).toMatchObject({
      rows: lines.length,
      first_id: 'att_0',
      last_id: `att_${lines.length - 1}`,
    });
  }

  test('gives back what was written, in groups, and says that it is whole', async () => {
    await write(LINES);
    const groups: string[][] = [];
    for await (const group of rowsIn(files, NAME, 2)) groups.push(group);
    expect(groups).toEqual([LINES.slice(0, 2), LINES.slice(2)]);
    expect(await files.check(NAME)).toBe('whole');
    expect(await place.list()).toHaveLength(2);
  });

  test('has nothing before the end, and nothing of what was given up', async () => {
    const writer = await files.begin(NAME);
    await writer.add({ id: 'att_0', line: String(LINES[2]) });
    expect([await files.manifest(NAME), await files.check(NAME)]).toEqual([null, 'no_manifest']);
    await writer.abort();
    await files.discard(NAME);
    expect(await place.list()).toEqual([]);
    await files.discard(NAME);
  });

  test('says what is lost and what was changed', async () => {
    await write(LINES);
    await place.put(`${NAME}.ndjson.gz`, Buffer.from('something else'));
    expect(await files.check(NAME)).toBe('changed');
    await place.remove(`${NAME}.ndjson.gz`);
    expect(await files.check(NAME)).toBe('no_file');
    await expect(rowsIn(files, NAME, 1).next()).rejects.toThrow(/is gone/);
    await place.put(`${NAME}.json`, Buffer.from('{"version": 2}'));
    await expect(files.check(NAME)).rejects.toThrow(/none of this version/);
    await files.reach();
  });
});

describe('a server of buckets', () => {
  let server: OwnBucketServer;
  beforeAll(async () => {
    server = await OwnBucketServer.start();
  });
  afterAll(() => server?.close());

  test.each<[string, Partial<Bucket>, RegExp]>([
    ['has no such bucket', { name: 'no-such-bucket' }, /bucket does not exist/],
    ['knows another secret', { keys: { ...KEYS, secretAccessKey: 'other' } }, /signature we calculated does not match/],
    [
      'knows no such key',
      { keys: { accessKeyId: 'other', secretAccessKey: 'other' } },
      /Access Key Id you provided does not exist/,
    ],
  ])('that %s is no bucket without the file', async (_what, over, message) => {
    const store = new BucketStore(bucketAt(server.endpoint, over));
    for (const act of [() => store.open('a.json'), () => store.reach(), () => store.remove('a.json')])
      await expect(act()).rejects.toThrow(message);
    const file = await store.create('a.json');
    file.sink.end('{}');
    await expect(file.keep()).rejects.toThrow(message);
  });

  test('that stands still is given up, and asked anew when it goes on', async () => {
    const patient = new BucketStore(bucketAt(server.endpoint));
    const file = await patient.create('a.json');
    file.sink.end('{}');
    await file.keep();
    const store = new BucketStore(bucketAt(server.endpoint), SILENT_MS);
    server.suspend();
    await expect(store.open('a.json')).rejects.toThrow(/tim(ed|e).?out/i);
    const underWay = patient.open('a.json');
    setTimeout(() => patient.end(), 50);
    await expect(underWay).rejects.toThrow(/abort/i);
    server.resume();
    // On a busy machine an answer may take longer than what counts as silent here.
    const answered = (): Promise<Readable | null> =>
      store.open('a.json').catch((error: unknown) => {
        expect(error).toBeInstanceOf(StoreUnavailable);
        return null;
      });
    const found = await until('the bucket answers', answered, (file) => file !== null);
    expect(found && (await text(found))).toBe('{}');
  });
});

describe('an answer', () => {
  let server: MisbehavingServer | null = null;
  afterEach(() => server?.close());

  async function endpointThat(react: Reaction): Promise<{ endpoint: string }> {
    server = new MisbehavingServer(react);
    return { endpoint: await server.listen() };
  }
  async function storeThat(react: Reaction, silentMs?: number): Promise<BucketStore> {
    return new BucketStore(bucketAt((await endpointThat(react)).endpoint), silentMs);
  }
  const refusal = (status: number, code: string): string =>
    answer(status, `<Error><Code>${code}</Code><Message>${code}</Message></Error>`, {
      'Content-Type': 'application/xml',
    });
  const head = (length: number): string => `HTTP/1.1 200 OK\r\ncontent-length: ${String(length)}\r\n\r\n`;

  test('that stops half-way is given up', async () => {
    const store = await storeThat((socket) => socket.write(`${head(10)}half`), SILENT_MS);
    await expect(store.open('a.json')).rejects.toThrow();
  });

  test('that is cut off half-way is no file', async () => {
    const store = await storeThat((socket) => socket.end(`${head(10)}half`));
    await expect(store.open('a.json')).rejects.toThrow();
  });

  test('that comes byte by byte is given up after a while', async () => {
    const { endpoint } = await endpointThat((socket) => {
      socket.write(head(1_000));
      const drip = setInterval(() => socket.write('x'), SILENT_MS / 10);
      socket.on('close', () => clearInterval(drip));
    });
    const { signal: end } = new AbortController();
    const objects = new S3Objects(bucketAt(endpoint), { silentMs: SILENT_MS, requestMs: 1_000, end });
    await expect(objects.get('a.json')).rejects.toThrow(StoreUnavailable);
  });

  test('without an end is not kept in memory', async () => {
    const megabyte = Buffer.alloc(2 ** 20);
    const store = await storeThat((socket) => {
      socket.write(head(2 ** 40));
      const more = (): void => {
        while (socket.writable && socket.write(megabyte));
      };
      socket.on('drain', more);
      more();
    });
    await expect(store.open('a.json')).rejects.toThrow(/larger than any archive/);
  });

  test('of 404 without an end is not kept in memory either', async () => {
    let sent = 0;
    const megabyte = Buffer.alloc(2 ** 20);
    const store = await storeThat((socket) => {
      socket.write('HTTP/1.1 404 Not Found\r\n\r\n');
      const more = (): void => {
        while (socket.writable && socket.write(megabyte)) sent += 1;
      };
      socket.on('drain', more);
      more();
    });
    // It says nothing about the file: no archive is given up for it.
    await expect(store.open('a.json')).rejects.toThrow(StoreUnavailable);
    expect(sent).toBeLessThan(64);
  });

  test('that refuses in a long text is in the log as a short one', async () => {
    const store = await storeThat((socket) => socket.write(refusal(403, `AccessDenied${'.'.repeat(16_000)}`)));
    const failed: unknown = await store.open('a.json').catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(StoreUnavailable);
    expect((failed as Error).message.length).toBeLessThan(600);
  });

  test('of 403 is not that there is none', async () => {
    const store = await storeThat((socket) => socket.write(refusal(403, 'AccessDenied')));
    await expect(store.open('a.json')).rejects.toThrow('AccessDenied');
  });

  test('of 503 is asked for again', async () => {
    const store = await storeThat((socket, _request, { requests }) =>
      socket.write(requests.length === 1 ? refusal(503, 'SlowDown') : `${head(2)}{}`),
    );
    const found = await store.open('a.json');
    expect(found && (await text(found))).toBe('{}');
    expect(server?.requests).toHaveLength(2);
  });
});

describe('a bucket that', () => {
  let server: Server | null = null;
  /** Headers of what was put, by name. */
  const put = new Map<string, IncomingHttpHeaders>();
  afterEach(() => server?.close());

  /** Keeps what it is sent as far as `kept` says. It never asks for the rest of a request, as some servers and proxies do not. */
  async function archiveThatKeeps(
    kept: (file: string, body: Buffer) => Buffer | null,
    answered: (file: string, body: Buffer) => Buffer = (_file, body) => body,
  ): Promise<ArchiveFiles> {
    const objects = new Map<string, Buffer>();
    server = createServer((request, response) => {
      void buffer(request).then((body) => {
        const file = /\/([^/?]+)\?/.exec(request.url ?? '')?.[1] ?? '';
        const written = request.method === 'PUT' ? kept(file, body) : null;
        if (request.method === 'PUT') put.set(file, request.headers);
        if (written) objects.set(file, written);
        const found = request.method === 'PUT' ? Buffer.alloc(0) : objects.get(file);
        if (found) response.end(request.method === 'PUT' ? found : answered(file, found));
        else response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>');
      });
    });
    server.on('checkContinue', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return new ArchiveFiles(new BucketStore(bucketAt(`http://127.0.0.1:${String(port)}`)));
  }

  test.each<[string, (file: string, body: Buffer) => Buffer | null, RegExp]>([
    ['keeps nothing', () => null, /is gone/],
    [
      'keeps other bytes',
      (file, body) => (file.endsWith('gz') ? Buffer.from('other') : body),
      /is not what was written/,
    ],
    [
      'keeps no manifest',
      (file, body) => (file.endsWith('gz') ? body : null),
      /manifest of .* is not what was written/,
    ],
  ])('%s ends the archive', async (_what, kept, message) => {
    const writer = await (await archiveThatKeeps(kept)).begin(NAME);
    await writer.add({ id: 'att_0', line: '{}' });
    await expect(writer.finish()).rejects.toThrow(message);
  });

  test('has something else at the second reading gives no row of it', async () => {
    let readings = 0;
    const other = gzipSync('{"id": "att_0", "changed": true}\n');
    const files = await archiveThatKeeps(
      (_file, body) => body,
      (file, body) => (file.endsWith('gz') && (readings += 1) > 2 ? other : body),
    );
    const writer = await files.begin(NAME);
    await writer.add({ id: 'att_0', line: '{"id": "att_0"}' });
    const recorded = await writer.finish();
    expect(await files.check(NAME, recorded.sha256)).toBe('whole');
    await expect(files.read(NAME, 10, recorded).next()).rejects.toThrow(/not what was recorded/);
  });

  test('has another file and its manifest is not taken for what was recorded', async () => {
    const files = await archiveThatKeeps((_file, body) => body);
    const write = async (line: string): Promise<Recorded> => {
      const writer = await files.begin(NAME);
      await writer.add({ id: 'att_0', line });
      return writer.finish();
    };
    const recorded = await write('{"id": "att_0"}');
    await write('{"id": "att_0", "changed": true}');
    expect([await files.check(NAME), await files.check(NAME, recorded.sha256)]).toEqual(['whole', 'other']);
    await expect(files.read(NAME, 10, recorded).next()).rejects.toThrow(/not what was recorded/);
  });

  test('takes megabytes without being asked for them, each file with its MD5', async () => {
    let stored: Buffer = Buffer.alloc(0);
    const files = await archiveThatKeeps((file, body) => (file.endsWith('gz') ? (stored = body) : body));
    const writer = await files.begin(NAME);
    for (let row = 0; row < 4; row += 1)
      await writer.add({ id: `att_${String(row)}`, line: randomBytes(2 ** 20).toString('hex') });
    await writer.finish();
    expect(stored.length).toBeGreaterThan(3 * 2 ** 20);
    const md5 = createHash('md5').update(stored).digest('base64');
    expect(put.get(`${NAME}.ndjson.gz`)).toMatchObject({ 'content-md5': md5 });
    expect(put.get(`${NAME}.json`)).toHaveProperty('content-md5');
    expect(await files.check(NAME)).toBe('whole');
  });
});
