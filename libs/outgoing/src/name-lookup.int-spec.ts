// Promise: a name that another party chose costs the program a question and three seconds, and holds up no other name.
import { createHook } from 'node:async_hooks';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { lookup, type LookupAddress } from 'node:dns';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { nameLookup, type NameServers } from './name-lookup.js';
import { OutgoingGuard } from './outgoing-guard.js';

const A = 1;
const AAAA = 28;
const NO_SUCH_NAME = 3;

/** What a name server says to a question: addresses (none: no data), an error code, or null for nothing at all. */
type Zone = (name: string, type: number) => readonly string[] | number | null;

let folder: string;
let open: Socket[] = [];
let questions: string[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'names-'));
});
beforeEach(() => {
  questions = [];
});
afterEach(() => {
  for (const socket of open) socket.close();
  open = [];
});
afterAll(() => rmSync(folder, { recursive: true }));

const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

async function nameServer(zone: Zone): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (question, from) => {
    const { name, type, end } = asked(question);
    questions.push(`${name} ${type === A ? 'A' : 'AAAA'}`);
    const said = zone(name, type);
    if (said !== null) socket.send(answer(question.subarray(0, end), type, said), from.port, from.address);
  });
  open.push(socket);
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return `127.0.0.1:${String(socket.address().port)}`;
}

/** RFC 1035 §4.1. */
function asked(question: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = question.readUInt8(at); length > 0; length = question.readUInt8(at)) {
    labels.push(question.toString('ascii', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: question.readUInt16BE(at + 1), end: at + 5 };
}

function answer(question: Buffer, type: number, said: readonly string[] | number): Buffer {
  const head = Buffer.from(question);
  const addresses = typeof said === 'number' ? [] : said;
  head.writeUInt16BE(0x8180 | (typeof said === 'number' ? said : 0), 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  const records = addresses.map((address) => {
    const data =
      type === A
        ? Buffer.from(address.split('.').map(Number))
        : Buffer.from(
            address
              .split(':')
              .map((part) => part.padStart(4, '0'))
              .join(''),
            'hex',
          );
    const record = Buffer.alloc(12);
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt16BE(data.length, 10);
    return Buffer.concat([record, data]);
  });
  return Buffer.concat([head, ...records]);
}

const NO_FILES = { hostsFile: '/nowhere/hosts', resolverFile: '/nowhere/resolv.conf' };

function find(name: string, names: NameServers, options: { family?: number } = {}): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    nameLookup({ ...NO_FILES, ...names })(name, { ...options, all: true }, (error, found) =>
      error ? reject(error) : resolve(found),
    );
  });
}

const addressesOf = (found: readonly LookupAddress[]): string[] =>
  found.map(({ address, family }) => {
    expect(family).toBe(isIP(address));
    return address;
  });

test('silent name servers hold up no lookup of the program itself, and are given up after the deadline', async () => {
  const servers = [await nameServer(() => null)];
  const lookups = Array.from({ length: 40 }, (_, at) =>
    find(`a${String(at)}.slow.example`, { servers, deadlineMs: 500 }),
  );
  const all = Promise.allSettled(lookups);
  expect((await promisify(lookup)('localhost')).address).toMatch(/^(127\.0\.0\.1|::1)$/);
  expect((await all).map(({ status }) => status)).toEqual(lookups.map(() => 'rejected'));
});

test('no guard asks for a name in the way that holds a thread', async () => {
  const kinds = new Set<string>();
  const hook = createHook({ init: (_id, kind) => void kinds.add(kind) }).enable();
  try {
    await OutgoingGuard.forWebhooks([]).check('https://nothing.invalid/');
  } finally {
    hook.disable();
  }
  expect(kinds).not.toContain('GETADDRINFOREQWRAP');
});

test('both families are found; one is enough where the other has nothing, or no answer', async () => {
  const both: Zone = (_name, type) => (type === A ? ['203.0.113.7', '203.0.113.8'] : ['2606:4700:0:0:0:0:0:1111']);
  const found = await find('Shop.Example.', { servers: [await nameServer(both)] });
  expect(addressesOf(found)).toEqual(['203.0.113.7', '203.0.113.8', '2606:4700::1111']);
  const nothing: Zone = (_name, type) => (type === A ? ['203.0.113.7'] : []);
  expect(addressesOf(await find('shop.example', { servers: [await nameServer(nothing)] }))).toEqual(['203.0.113.7']);
  const silent: Zone = (_name, type) => (type === AAAA ? ['2606:4700:0:0:0:0:0:1111'] : null);
  const half = await find('shop.example', { servers: [await nameServer(silent)], deadlineMs: 1_000 });
  expect(addressesOf(half)).toEqual(['2606:4700::1111']);
});

test('one family where only that is wanted', async () => {
  const servers = [await nameServer((_name, type) => (type === A ? ['203.0.113.7'] : ['2606:4700:0:0:0:0:0:1111']))];
  expect(addressesOf(await find('shop.example', { servers }, { family: 4 }))).toEqual(['203.0.113.7']);
  expect(questions).toEqual(['shop.example A']);
});

test('a name that is not there', async () => {
  const servers = [await nameServer(() => NO_SUCH_NAME)];
  await expect(find('shop.example', { servers })).rejects.toMatchObject({ code: 'ENOTFOUND' });
});

test('the hosts file comes before the name servers, and localhost is never asked for', async () => {
  const servers = [await nameServer(() => ['203.0.113.7'])];
  const hostsFile = file(
    'hosts',
    '10.0.0.5 postgres db # the database\nfd00:0:0:0:0:0:0:5\tDB\n# 10.0.0.6 commented\n',
  );
  expect(addressesOf(await find('db', { servers, hostsFile }))).toEqual(['10.0.0.5', 'fd00:0:0:0:0:0:0:5']);
  expect(addressesOf(await find('localhost', { servers, hostsFile }))).toEqual(['127.0.0.1']);
  expect(questions).toEqual([]);
  expect(addressesOf(await find('commented', { servers, hostsFile }, { family: 4 }))).toEqual(['203.0.113.7']);
});

test('a name that is not there as it stands is asked for in the domains that the system searches', async () => {
  const servers = [
    await nameServer((name, type) =>
      name === 'erp.shop.svc.cluster.local' ? (type === A ? ['10.0.0.9'] : []) : NO_SUCH_NAME,
    ),
  ];
  const resolverFile = file('resolv.conf', 'nameserver 10.0.0.1\nsearch lan svc.cluster.local.\noptions ndots:5\n');
  expect(addressesOf(await find('erp.shop', { servers, resolverFile }, { family: 4 }))).toEqual(['10.0.0.9']);
  expect(questions).toEqual(['erp.shop A', 'erp.shop.lan A', 'erp.shop.svc.cluster.local A']);
});
