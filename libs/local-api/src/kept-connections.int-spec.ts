// Promise: a connection that is used again never costs a receipt, and never hands one call the answer to another.
import { ClientRig, RECEIPT, SALE, sell } from './testing/client-rig.js';
import { untilTrue } from '../../runtime/src/testing/until.js';
import { answer, type Reaction } from './testing/misbehaving-server.js';

const rig = new ClientRig();
afterEach(() => rig.end());

const keepAlive = (timeout: string): Reaction => {
  return (socket) => socket.write(answer(200, SALE, { Connection: 'keep-alive', 'Keep-Alive': timeout }));
};

test('one connection serves many calls', async () => {
  const { server, client } = await rig.setUp(keepAlive('timeout=30'));
  for (let round = 0; round < 5; round += 1) expect(await sell(client)).toMatchObject({ kind: 'registered' });
  expect([server.requests.length, server.connections]).toEqual([5, 1]);
});

test('a client that is retired in mid-sale receives the answer, and keeps nothing', async () => {
  let ended = 0;
  const { client } = await rig.setUp((...given) => {
    given[0].on('close', () => (ended += 1));
    client.retire();
    setTimeout(() => keepAlive('timeout=30')(...given), 50);
  });
  expect(await sell(client)).toMatchObject({ kind: 'registered' });
  await untilTrue(() => ended === 1);
});

test('a connection that the server is about to close is not reused', async () => {
  const { server, client } = await rig.setUp(keepAlive('timeout=1'));
  for (let round = 0; round < 3; round += 1) expect(await sell(client)).toMatchObject({ kind: 'registered' });
  expect([server.requests.length, server.connections]).toEqual([3, 3]);
});

test('a server that closes idle connections early never costs a receipt', async () => {
  const { server, client } = await rig.setUp((socket) => socket.end(answer(200, SALE)));
  for (let round = 1; round <= 20; round += 1) {
    expect(await sell(client)).toMatchObject({ kind: 'registered' });
    expect([server.requests.length, server.connections]).toEqual([round, round]);
    await untilTrue(() => server.openConnections === 0);
  }
});

test('a second answer to the first request is not taken for the answer to the second', async () => {
  const { server, client } = await rig.setUp((socket, request) => {
    const seq = request.connection === 0 ? 7 : 8;
    const bytes = answer(200, { ...SALE, receipt: { ...RECEIPT, receiptSeq: seq } });
    socket.write(request.connection === 0 ? `${bytes}${bytes}` : bytes);
  });
  expect(await sell(client)).toMatchObject({ response: { receipt: { receiptSeq: 7 } } });
  expect(await sell(client)).toMatchObject({ response: { receipt: { receiptSeq: 8 } } });
  expect(server.connections).toBe(2);
});

test('after a timeout the late answer is not read by the next call', async () => {
  let first = true;
  const { client } = await rig.setUp(
    (socket) => {
      if (first)
        setTimeout(() => socket.write(answer(200, { ...SALE, receipt: { ...RECEIPT, receiptSeq: 6 } })), 2_100);
      else socket.write(answer(200, SALE));
      first = false;
    },
    // Both calls have it: long enough for the second one on a busy machine.
    { timeoutMs: 2_000 },
  );
  expect(await sell(client)).toMatchObject({ kind: 'unclear', reason: 'timeout' });
  expect(await sell(client)).toMatchObject({ response: { receipt: { receiptSeq: 7 } } });
});
