// Promise: a certificate of a server that the programs call by TLS is shown to end before it ends, and one without TLS is not asked for any.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import { selfSigned } from '../../../../../../libs/messages/src/testing/certificates.js';
import { checkCertificates } from './check-certificates.js';

const PUBLIC = { PUBLIC_URL: 'http://127.0.0.1:1', LINK_PUBLIC_URL: 'ws://127.0.0.1:1/link', QUEUE_URL: undefined };
const open: Server[] = [];

afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

async function portOf(server: Server): Promise<string> {
  open.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return String((server.address() as AddressInfo).port);
}

/** What PostgreSQL does before it speaks TLS. */
function postgres(answer: 'S' | 'N', days: number): Server {
  const { key, cert } = selfSigned('localhost', days);
  return createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (asked) => {
      if (asked.toString('hex') !== '0000000804d2162f') return socket.destroy();
      socket.write(answer);
      if (answer === 'S') new TLSSocket(socket, { isServer: true, key, cert }).on('error', () => undefined);
      return undefined;
    });
  });
}

test.each([
  [60, 'ok'],
  [14, 'warn'],
  [2, 'bad'],
])('of PostgreSQL and Redis, %s days before its end: %s', async (days, state) => {
  const database = `postgresql://fiscal_app:secret@localhost:${await portOf(postgres('S', days))}/fiscal?sslmode=verify-full`;
  const { key, cert } = selfSigned('localhost', days);
  const redis = await portOf(createTlsServer({ key, cert }, (socket) => socket.on('error', () => undefined)));
  const found = await checkCertificates({
    ...PUBLIC,
    ...{ DATABASE_URL: database, DIRECT_DATABASE_URL: database, QUEUE_URL: `rediss://:secret@127.0.0.1:${redis}` },
  });
  const end = expect.stringMatching(/^good until 20\d\d-\d\d-\d\d$/) as unknown;
  const how = (server: string): unknown =>
    state === 'ok' ? null : (expect.stringContaining(`restart ${server}`) as unknown);
  expect(found).toEqual([
    {
      ...{ check: `certificate of PostgreSQL at localhost:${new URL(database).port}`, state, found: end },
      do: how('PostgreSQL'),
    },
    { check: `certificate of Redis at 127.0.0.1:${redis}`, state, found: end, do: how('Redis') },
  ]);
});

test('a server that has no TLS although the setting wants it is a finding; one that is called without is not asked', async () => {
  const port = await portOf(postgres('N', 60));
  const plain = `postgresql://fiscal_app:secret@127.0.0.1:${port}/fiscal`;
  expect(await checkCertificates({ ...PUBLIC, DATABASE_URL: plain, QUEUE_URL: 'redis://127.0.0.1:1' })).toEqual([]);
  expect(await checkCertificates({ ...PUBLIC, DATABASE_URL: `${plain}?sslmode=require` })).toEqual([
    {
      ...{ check: `certificate of PostgreSQL at 127.0.0.1:${port}`, state: 'warn', found: 'not read: it has no TLS' },
      do: 'Does PostgreSQL answer there, with TLS? The programs connect so.',
    },
  ]);
});
