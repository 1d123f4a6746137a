// Promise: a merchant whose mail server does not come to an end holds one place, and the others send meanwhile.
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { bySms } from './buyers-and-accounts.js';
import { MessagesRig } from './messages-rig.js';
import { untilTrue } from '../../libs/runtime/src/testing/until.js';

/** Letters of one account that are under way at the same time. */
const AT_ONCE = 6;

let rig: MessagesRig;
let dripping: Server;
const held = new Set<Socket>();
let most = 0;

beforeAll(async () => {
  rig = await MessagesRig.start();
  dripping = createServer((socket) => {
    held.add(socket);
    most = Math.max(most, held.size);
    socket.write('220 x.uz ESMTP\r\n');
    const line = setInterval(() => socket.write('250-x\r\n'), 1_000);
    socket.on('close', () => {
      held.delete(socket);
      clearInterval(line);
    });
    socket.on('error', () => undefined).resume();
  });
  await new Promise<void>((resolve) => dripping.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  for (const socket of held) socket.destroy();
  await rig?.stop();
  dripping?.close();
});

test('an account that outlives its lease is not begun a second time', async () => {
  const account = await rig.mailAccount({ port: (dripping.address() as AddressInfo).port });
  const id = await rig.sold({});
  for (let at = 0; at <= AT_ONCE; at += 1)
    await rig.ask('POST', `/v1/receipts/${id}/messages`, { channel: 'email', to: `a${String(at)}@example.uz` });
  await untilTrue(() => held.size > 0);
  // As if the minute were over.
  await rig.prisma.$executeRaw`
    UPDATE message_accounts SET lease_until = now(), due_at = '2000-01-01' WHERE id = ${account}`;
  await rig.smsAccount(await rig.provider('eskiz'));
  await rig.until(await rig.sold(bySms()), ['sent']);
  expect(most).toBeLessThanOrEqual(AT_ONCE);
});
