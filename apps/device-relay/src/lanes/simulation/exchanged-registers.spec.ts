// Promise: a register that is exchanged, once or twice, at whichever moment, doubles nothing and stops no lane longer than it must.
import { toLocalReceipt } from '#fiscal-domain';
import { documentOf } from './testing/documents.js';
import { Stage } from './testing/stage.js';

const KEYED = { keyed: true };
let stage: Stage;

afterEach(() => expect(stage.promises.broken).toEqual([]));

test.each([
  ['with keys', true, false],
  ['with keys, whose lane has to settle first', true, true],
  ['without keys', false, false],
  ['without keys, whose lane has to settle first', false, true],
])(
  'one that is exchanged again, for one %s, before its lane has met it registers nothing that was sent again for the one before',
  async (_what, keyed, mustSettle) => {
    stage = new Stage();
    const register = stage.addDevice('dev-1', { ...KEYED });
    // Nor does the repetition get there, whose answer would prove it.
    stage.script.push({ fate: 'lost answer' }, { fate: 'lost request' });
    const receipt = stage.accept('dev-1');
    stage.at(100, () => stage.park({ mustSettle: false }));
    await stage.runFor(150);
    stage.ledger.setDeviceState('dev-1', 'replaced', 'a test');
    stage.ledger.adopt('dev-1');
    // As the module that stands there knows its key.
    stage.ledger.sendAgain(receipt);
    register.kind.keyed = keyed;
    register.replaceModule();
    stage.ledger.laneOf('dev-1').mustSettle = mustSettle;
    stage.relays[0]!.wake('dev-1');
    await stage.runFor(300);
    expect([receipt.status, stage.attemptsOf('dev-1')]).toEqual(['unknown', 1]);
    stage.ledger.sendAgain(receipt);
    expect(receipt.status).toBe('accepted');
  },
);

test('a relay that stood still while its register was exchanged and adopted does not stop the lane again', async () => {
  stage = new Stage(2);
  const [frozen, other] = stage.relays;
  const register = stage.addDevice('dev-1', KEYED);
  stage.accept('dev-1');
  // Who is there is asked anew after this.
  await stage.runFor(90);
  const status = register.status.bind(register);
  register.status = () => {
    register.status = status;
    frozen?.process.pause();
    frozen?.locks.loseSession(122_000);
    const answer = status();
    register.replaceModule();
    return answer;
  };
  const receipt = stage.accept('dev-1');
  await stage.runFor(10);
  expect(stage.ledger.devices.get('dev-1')!.state).toBe('replaced');
  stage.ledger.adopt('dev-1');
  other?.wake('dev-1');
  await stage.runFor(5);
  expect(receipt.status).toBe('registered');
  await stage.runFor(100);
  frozen?.process.goOn(false);
  await stage.runFor(30);
  expect(stage.ledger.devices.get('dev-1')!.state).toBe('online');
});

test('a module that is exchanged while we ask who is there is not sent the repetition', async () => {
  stage = new Stage();
  const register = stage.addDevice('dev-1', { ...KEYED, lagMs: 900 });
  stage.script.push({ fate: 'lost answer' });
  const receipt = stage.accept('dev-1');
  const fmInfo = register.fmInfo.bind(register);
  register.fmInfo = () => {
    const info = fmInfo();
    if (stage.time.nowMs > 30_000 && register.modules === 1) stage.time.after(1, () => register.replaceModule());
    return info;
  };
  await stage.runFor(300);
  expect(register.modules).toBe(2);
  expect(receipt.status).toBe('sending');
  expect(stage.ledger.devices.get('dev-1')!.state).toBe('replaced');
});

test.each([
  ['while it waits: the new one is asked who it is before it is sent', 0],
  ['and adopted: a person is asked once more', 5_000],
])('a module that is exchanged after a receipt was sent again, %s', async (_when, adoptAfterMs) => {
  stage = new Stage();
  const register = stage.addDevice('dev-1', KEYED);
  stage.script.push({ fate: 'lost answer' }, { fate: 'lost request' });
  const receipt = stage.accept('dev-1');
  stage.at(100, () => stage.park({ mustSettle: false }));
  await stage.runFor(150);
  // So that who is there has been asked just now.
  const other = stage.accept('dev-1');
  await stage.runFor(5);
  expect([receipt.status, other.status]).toEqual(['unknown', 'registered']);
  register.replaceModule();
  stage.ledger.sendAgain(receipt);
  stage.relays[0]!.wake('dev-1');
  await stage.runFor(5);
  expect(stage.ledger.devices.get('dev-1')!.state).toBe('replaced');
  expect(receipt.status).toBe('accepted');
  if (adoptAfterMs === 0) return;
  await stage.runFor(adoptAfterMs / 1_000);
  stage.ledger.adopt('dev-1');
  stage.relays[0]!.wake('dev-1');
  const next = stage.accept('dev-1');
  await stage.runFor(60);
  expect([receipt.status, next.status]).toEqual(['unknown', 'registered']);
});

test.each([
  ['nothing was sold on it since', 0],
  ['others have sold on it until its sequence caught up', 3],
])('a copy of the module that was put back is not sent what it has forgotten: %s', async (_what, sold) => {
  stage = new Stage();
  const register = stage.addDevice('dev-1', KEYED);
  stage.accept('dev-1');
  await stage.runFor(5);
  const putBack = register.copy();
  for (let after = 0; after < 2; after += 1) stage.accept('dev-1');
  await stage.runFor(5);
  // Registered, delivered, and its answer lost: the lane goes on by repeating it.
  stage.script.push({ fate: 'lost answer' });
  const receipt = stage.accept('dev-1');
  stage.at(stage.time.nowMs + 100, () => {
    putBack();
    for (let sale = 0; sale < sold; sale += 1)
      register.sellForeign(toLocalReceipt(documentOf('foreign', stage.chance), 'unit'));
  });
  await stage.runFor(300);
  expect(stage.ledger.devices.get('dev-1')!.state).toBe('replaced');
  expect([receipt.status, stage.attemptsOf('dev-1')]).toEqual(['sending', 4]);
});
