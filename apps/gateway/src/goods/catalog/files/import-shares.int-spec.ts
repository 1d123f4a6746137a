// Promise: uploads that never end, and files that take long, keep no other merchant from importing.
import 'reflect-metadata';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { FILE_MEDIA_TYPES } from '#http';
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
function begin(token: string): { upload: ClientRequest; answer: Promise<Answer> } {
  const upload = request(`${catalog.gateway.base}/v1/catalog/imports?mode=upsert`, {
    ...{ method: 'POST', agent: false },
    headers: { authorization: `Bearer ${token}`, 'content-type': FILE_MEDIA_TYPES.csv },
  });
  upload.write(FILE);
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

async function send(token: string): Promise<Answer> {
  const { upload, answer } = begin(token);
  upload.end();
  const { status, body } = await answer;
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
