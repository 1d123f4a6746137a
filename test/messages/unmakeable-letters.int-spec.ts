// Promise: a letter that cannot be made of its receipt holds up no other of its merchant, and costs one try at a time.
import { ComposeMessage } from '../../apps/gateway/src/notify/messages/compose-message.js';
import { untilTrue } from '../../libs/runtime/src/testing/until.js';
import { byMail } from './buyers-and-accounts.js';
import { MessagesRig } from './messages-rig.js';

let rig: MessagesRig;

beforeAll(async () => {
  rig = await MessagesRig.start();
  await rig.mailAccount(await rig.mailServer());
});
afterAll(() => rig?.stop());

test('letters that cannot be made hold up no other, and show why they wait', async () => {
  const composer = rig.sales.gateway.app.get(ComposeMessage, { strict: false });
  const compose = composer.compose.bind(composer);
  const unmakeable = new Set<string>();
  const spy = jest.spyOn(composer, 'compose').mockImplementation((account, message, to) => {
    if (unmakeable.has(message.receipt_id)) throw new TypeError('a receipt that cannot be drawn');
    return compose(account, message, to);
  });
  for (let more = 0; more < 7; more += 1) {
    const id = await rig.accepted(byMail());
    unmakeable.add(id);
    await rig.registered(id);
  }
  const good = await rig.sold(byMail());
  await rig.until(good, ['sent']);
  for (const id of unmakeable) {
    await untilTrue(async () => (await rig.messagesOf(id))[0]?.attempts[0]?.code === 'not_composed');
    const [shown] = await rig.messagesOf(id);
    expect([shown?.state, shown?.attempts]).toMatchObject(['pending', [{ outcome: 'not_now' }]]);
  }
  expect(spy.mock.calls.filter(([, { receipt_id: id }]) => unmakeable.has(id)).length).toBe(unmakeable.size);
  spy.mockRestore();
  await rig.letTimePass();
  for (const id of unmakeable) await rig.until(id, ['sent']);
});
