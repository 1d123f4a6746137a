// Promise: uploads that never end, and files that take long, keep no other merchant from importing; a merchant's own come one after the other.
import 'reflect-metadata';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { superuserOf } from '#database/testing';
import { FILE_MEDIA_TYPES } from '#http';
import { untilTrue } from '../../../../../../libs/runtime/src/testing/until.js';
import { BREAD, CatalogFixture } from '../testing/catalog-fixture.js';

const FILE = `sku,spic,name_ru,package_code,vat_percent\nbread-1,${BREAD},Хлеб,1500001,12\n`;
let catalog: CatalogFixture;
let flooding: string;
let other: string;

beforeAll(async () => {
  catalog = await CatalogFixture.start();
  const { gateway } = catalog;
  const scopes = ['catalog:write', 'catalog:read'];
  flooding = await gateway.createToken(await gateway.createMerchant(), scopes);
  other = await gateway.createToken(await gateway.createMerchant(), scopes);
});
afterAll(() => catalog?.stop());

interface Answer {
  status: number;
  body: { id: string; state: string; code?: string };
}

/** An upload whose end the caller decides. */
function begin(token: string, text = FILE): { upload: ClientRequest; answer: Promise<Answer> } {
  const upload = request(`${catalog.gateway.base}/v1/catalog/imports?mode=upsert`, {
    ...{ method: 'POST', agent: false },
    headers: { authorization: `Bearer ${token}`, 'content-type': FILE_MEDIA_TYPES.csv },
  });
  upload.write(text);
  const answer = new Promise<Answer>((resolve, reject) => {
    upload.on('error', reject);
    upload.on('response', (response) => void read(response).then(resolve, reject));
  });
  return { upload, answer };
}

async function read(response: IncomingMessage): Promise<Answer> {
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode ?? 0, body: JSON.parse(text) as Answer['body'] };
}

async function send(token: string, text = FILE): Promise<Answer> {
  const { upload, answer } = begin(token, text);
  upload.end();
  return lastOf(token, await answer);
}

async function lastOf(token: string, { status, body }: Answer): Promise<Answer> {
  let { state } = body;
  while (state === 'running') {
    await delay(50);
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${catalog.gateway.base}/v1/catalog/imports/${body.id}`, { headers });
    ({ state } = (await response.json()) as Answer['body']);
  }
  return { status, body: { ...body, state } };
}

test('four uploads that never end are a merchant’s share; each import of another merchant is done', async () => {
  const open = Array.from({ length: 5 }, () => begin(flooding));
  const cut = open.map(({ answer }) => answer.catch(() => null));
  // Four of them are never answered.
  const refused = await Promise.race(cut);
  expect([refused?.status, refused?.body.code]).toEqual([503, 'import_busy']);
  for (let sent = 0; sent < 5; sent += 1) {
    const { body } = await send(other);
    expect(body.state).toBe('done');
  }
  // The flood still holds what it has taken.
  const { upload, answer } = begin(flooding);
  expect((await answer).body.code).toBe('import_busy');
  for (const each of [...open.map((one) => one.upload), upload]) each.destroy();
  await Promise.all(cut);
});

/** More than a megabyte. */
const LARGE_FILE = FILE + `\n`.repeat(1_100_000);

/** Two merchants' large files are held up in the middle; a small one of another merchant is sent. @returns what had ended before it */
async function besideLargeFiles(): Promise<string[]> {
  const { gateway } = catalog;
  const ended: string[] = [];
  const held = await superuserOf(gateway.database);
  try {
    const large = await Promise.all([gateway.createMerchant(), gateway.createMerchant()]);
    // What a batch waits for while a synchronisation of its merchant is committed.
    for (const merchant of large) await held.query(`SELECT pg_advisory_lock(${0x4347}, hashtext('${merchant}'))`);
    const tokens = await Promise.all(large.map((each) => gateway.createToken(each, ['catalog:write', 'catalog:read'])));
    const noted = (name: string, work: Promise<Answer>): Promise<void> => work.then(() => void ended.push(name));
    const work = tokens.map((token) => noted('large', send(token, LARGE_FILE)));
    const waiting = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database =
      (SELECT oid FROM pg_database WHERE datname = current_database())`;
    await untilTrue(async () => (await held.query(waiting)).rows.length === large.length, 'both are held up');
    work.push(noted('small, of the same merchant', send(tokens[0] ?? '')));
    const { body } = await send(other);
    expect(body.state).toBe('done');
    const before = [...ended];
    await held.query('SELECT pg_advisory_unlock_all()');
    await Promise.all(work);
    expect(ended.indexOf('large')).toBe(0);
    return before;
  } finally {
    await held.end();
  }
}

test('a small file is read while large ones of two other merchants are, but not before a large one of its own merchant', async () => {
  // A batch is held up for thirty seconds at most, which a small file may need on a busy machine.
  const rounds: string[][] = [];
  while (rounds.length < 3 && !rounds.some((before) => before.length === 0)) rounds.push(await besideLargeFiles());
  expect(rounds).toContainEqual([]);
});
