// Promise: once an account was replaced or its key changed, what is asked for goes out by the new one, whatever waits for the old one or comes back from it.
import { MessageRepository } from '../../apps/gateway/src/notify/messages/message.repository.js';
import { untilTrue } from '../../libs/runtime/src/testing/until.js';
import { bySms } from './buyers-and-accounts.js';
import { MessagesRig } from './messages-rig.js';

let rig: MessagesRig;

beforeEach(async () => {
  rig = await MessagesRig.start();
});
afterEach(() => rig?.stop());

const isEnabled = async (account: string): Promise<unknown> =>
  (await rig.ask('GET', `/v1/message-accounts/${account}`)).body['enabled'];

test('a message that waits for a deleted account is no backlog, and does not stand for one that is asked for anew', async () => {
  const sms = await rig.provider('eskiz');
  const account = await rig.smsAccount(sms);
  const id = await rig.sold({});
  const [asked, wish] = [`/v1/receipts/${id}/messages`, { channel: 'sms', to: '+998932223344' }];
  const waiting = (): Promise<number> => rig.sales.gateway.app.get(MessageRepository).countDue();
  sms.password = 'another';
  const first = await rig.ask('POST', asked, wish);
  await untilTrue(async () => (await isEnabled(account)) === false);
  expect(await waiting()).toBe(1);
  expect((await rig.ask('DELETE', `/v1/message-accounts/${account}`)).status).toBe(204);
  expect(await waiting()).toBe(0);
  sms.password = 'right-password';
  await rig.smsAccount(sms);
  const again = await rig.ask('POST', asked, wish);
  expect([again.status, again.body.id === first.body.id]).toEqual([202, false]);
  await untilTrue(() => sms.taken.some(({ to }) => to === '998932223344'));
});

test('a refusal of the key before, which comes after the new one was set, disables nothing; what waited goes out by the new one', async () => {
  const sms = await rig.provider('playmobile');
  sms.lateMs = 1_000;
  sms.faults = ['late_answer'];
  sms.password = 'the-new-one';
  const account = await rig.smsAccount(sms);
  const id = await rig.sold(bySms());
  await untilTrue(() => sms.calls === 1);
  const settings = { password: 'the-new-one' };
  expect((await rig.ask('PATCH', `/v1/message-accounts/${account}`, { settings })).status).toBe(200);
  await rig.until(id, ['sent']);
  expect(await isEnabled(account)).toBe(true);
  expect(await rig.events('message.account_disabled')).toEqual([]);
});

test('a message that may have gone out by an account that was deleted since is not sent again by the next one', async () => {
  const sms = await rig.provider('eskiz');
  const account = await rig.smsAccount(sms);
  const id = await rig.sold({});
  const [asked, wish] = [`/v1/receipts/${id}/messages`, { channel: 'sms', to: '+998932223355' }];
  sms.faults = ['drop_answer'];
  const first = await rig.ask('POST', asked, wish);
  await rig.until(id, ['unclear']);
  expect((await rig.ask('DELETE', `/v1/message-accounts/${account}`)).status).toBe(204);
  await rig.smsAccount(sms);
  const again = await rig.ask('POST', asked, wish);
  expect([again.status, again.body.id, again.body['state']]).toEqual([202, first.body.id, 'unclear']);
  expect(await rig.messagesOf(id)).toHaveLength(1);
  expect(sms.taken.filter(({ to }) => to === '998932223355')).toHaveLength(1);
});
