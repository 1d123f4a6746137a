// Promise: `fgw listen` of a person with several merchants goes on in the feed of each where it was left there.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../run.js';
import { thisProcess, type World } from '../session.js';
import { readEnvironment } from '../settings.js';
import { heardStreams } from '../testing/heard-streams.js';

let folder: string;
let server: Server;
let stopping = new AbortController();
/** Merchant and cursor of each reading of the feed. */
let read: [string, string | null][] = [];

beforeAll(async () => {
  // Its feeds are empty; it stops the command that has read on from a place.
  server = createServer((request, response) => {
    const merchant = String(request.headers['fgw-merchant']);
    const { searchParams } = new URL(request.url ?? '/', 'http://gateway');
    const cursor = searchParams.get('cursor');
    read.push([merchant, cursor]);
    const page = { data: [], has_more: false, next_cursor: `place-of-${merchant}` };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(page));
    if (cursor !== null) setTimeout(() => stopping.abort(), 50);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  folder = mkdtempSync(join(tmpdir(), 'fiscal-fgw-'));
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

/** @returns what was read of feeds, until it was read on from a place */
async function listenAs(merchantId: string): Promise<[string, string | null][]> {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const session = { token: 'fgw_ut_1', expires_at: '2099-01-01T00:00:00Z', scopes: [], merchant_id: merchantId };
  const config = join(folder, 'config.json');
  writeFileSync(config, JSON.stringify({ profiles: { default: { url, client_id: 'usr_1', session } } }));
  [stopping, read] = [new AbortController(), []];
  const { streams } = heardStreams();
  const environment = readEnvironment({ FGW_CONFIG: config });
  const world: World = { ...thisProcess(stopping.signal), environment, streams, isTerminal: false };
  await run(['listen', '--forward-to', 'http://127.0.0.1:1'], world);
  return read;
}

test('another merchant begins in its own feed, and the first goes on where it was left', async () => {
  const begun = (merchant: string): [string, string | null][] => [
    [merchant, null],
    [merchant, `place-of-${merchant}`],
  ];
  expect(await listenAs('mer_1')).toEqual(begun('mer_1'));
  expect(await listenAs('mer_2')).toEqual(begun('mer_2'));
  expect(await listenAs('mer_1')).toEqual([['mer_1', 'place-of-mer_1']]);
});
