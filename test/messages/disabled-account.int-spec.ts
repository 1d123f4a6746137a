// Promise: an account that is disabled keeps no address of a buyer: why it is, says none, and what waits for it comes to an end.
import { ClearMessages } from '../../apps/gateway/src/notify/messages/clear-messages.js';
import { untilTrue } from '../../libs/runtime/src/testing/until.js';
import { anAddress, byMail, bySms } from './buyers-and-accounts.js';
import { MessagesRig } from './messages-rig.js';

let rig: MessagesRig;

beforeEach(async () => {
  rig = await MessagesRig.start();
});
afterEach(() => rig?.stop());

const clear = (): Promise<boolean> => rig.sales.gateway.app.get(ClearMessages, { strict: false }).execute();

test('a message that has waited longer than addresses are kept fails, and its address is erased like others; a younger one waits and goes out', async () => {
  const sms = await rig.provider('eskiz');
  const account = await rig.smsAccount(sms);
  sms.password = 'another';
  const [old, interrupted, asked, young] = [
    await rig.sold(bySms()),
    await rig.sold(bySms()),
    await rig.sold(bySms()),
    await rig.sold(bySms()),
  ];
  await untilTrue(async () => (await rig.ask('GET', `/v1/message-accounts/${account}`)).body['enabled'] === false);
  for (const id of [old, interrupted, asked, young]) await rig.until(id, ['pending']);
  const dueBefore = (receiptId: string, days: number): Promise<number> =>
    rig.prisma.$executeRaw`
      UPDATE messages SET due_at = now() - make_interval(days => ${days}::int4) WHERE receipt_id = ${receiptId}`;
  for (const id of [old, interrupted, asked]) await dueBefore(id, 31);
  await dueBefore(young, 29);
  // A gateway died in the one's try; of the other no answer came.
  await rig.prisma.message.updateMany({
    where: { receiptId: interrupted },
    data: { state: 'sending', attemptCount: 9 },
  });
  const { id: messageId } = await rig.prisma.message.findFirstOrThrow({ where: { receiptId: interrupted } });
  await rig.prisma.messageAttempt.create({ data: { messageId, number: 9 } });
  await rig.prisma.message.updateMany({ where: { receiptId: asked }, data: { state: 'unclear' } });

  await clear();
  expect(await rig.messagesOf(old)).toMatchObject([{ state: 'failed', reason: 'gave_up' }]);
  const [cut] = await rig.messagesOf(interrupted);
  expect(cut).toMatchObject({ state: 'failed', reason: 'unclear' });
  expect(cut!.attempts).toContainEqual(expect.objectContaining({ number: 9, outcome: 'interrupted' }));
  expect(await rig.messagesOf(asked)).toMatchObject([{ state: 'failed', reason: 'unclear' }]);
  expect(await rig.messagesOf(young)).toMatchObject([{ state: 'pending', reason: null }]);
  expect(await rig.events('message.failed')).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ receipt_id: old, channel: 'sms', source: 'sale', reason: 'gave_up' }),
      expect.objectContaining({ receipt_id: interrupted, reason: 'unclear' }),
    ]),
  );

  await rig.prisma.$executeRaw`
    UPDATE messages SET finished_at = finished_at - interval '31 days' WHERE finished_at IS NOT NULL`;
  await clear();
  const addressOf = async (receiptId: string): Promise<Uint8Array | null> =>
    (await rig.prisma.message.findFirstOrThrow({ where: { receiptId } })).addressSealed;
  for (const id of [old, interrupted, asked]) expect(await addressOf(id)).toBeNull();
  expect(await addressOf(young)).not.toBeNull();

  sms.password = 'right-password';
  expect((await rig.ask('PATCH', `/v1/message-accounts/${account}`, { enabled: true })).status).toBe(200);
  await rig.until(young, ['sent']);
  expect(sms.taken).toHaveLength(1);
});

test('of an account that is enabled nothing ends, however long it was away', async () => {
  const sms = await rig.provider('eskiz');
  const account = await rig.smsAccount(sms, { quiet_from: '00:00', quiet_until: '23:59' });
  const id = await rig.sold(bySms());
  await untilTrue(async () => (await rig.messagesOf(id)).length === 1);
  await rig.prisma.messageAccount.update({
    where: { id: account },
    data: { blockedUntil: new Date(Date.now() + 3_600_000) },
  });
  await rig.prisma.$executeRaw`UPDATE messages SET due_at = now() - interval '400 days' WHERE receipt_id = ${id}`;
  await clear();
  expect(await rig.messagesOf(id)).toMatchObject([{ reason: null }]);
});

test('a mail server that names the buyer as it refuses the account: neither the account nor its event nor the trail repeats the address', async () => {
  const mail = await rig.mailServer();
  const account = await rig.mailAccount(mail);
  mail.faults = ['not_logged_in'];
  const address = anAddress();
  await rig.sold(byMail(address));
  const shown = async (): Promise<Record<string, unknown>> =>
    (await rig.ask('GET', `/v1/message-accounts/${account}`)).body;
  await untilTrue(async () => (await shown())['enabled'] === false);
  const reason = '530 5.7.1: 530 5.7.1 <[address]>: not authenticated';
  expect((await shown())['disabled_reason']).toBe(reason);
  expect(await rig.events('message.account_disabled')).toMatchObject([{ message_account_id: account, reason }]);
  const [kept] = await rig.prisma.$queryRaw<{ text: string }[]>`
    SELECT concat((SELECT jsonb_agg(e) FROM events e WHERE type LIKE 'message.%'), (SELECT jsonb_agg(r) FROM audit_records r),
                  (SELECT jsonb_agg(c) FROM message_accounts c)) AS text`;
  expect(kept!.text).toContain(reason);
  expect(kept!.text).not.toContain(address);
});
