// Promise: each way in which a lane was once found to fail stays closed: one scenario each, without chance.
import { Stage } from './testing/stage.js';

const EXCLUSIVE = { sharing: 'exclusive' } as const;
let stage: Stage;

afterEach(() => expect(stage.promises.broken).toEqual([]));

describe('registers without keys', () => {
  test('a phone that falls asleep over a request, between two checks of it, is settled anew when it wakes', async () => {
    stage = new Stage();
    const phone = stage.addDevice('dev-1', {}, EXCLUSIVE);
    stage.script.push({ fate: 'late request', workMs: 80_000 });
    const receipt = stage.accept('dev-1');
    // Awake when the settling begins after the deadline of the sending, asleep for most of it, awake at its end.
    stage.at(65_000, () => phone.sleep());
    stage.at(175_000, () => phone.wake());
    await stage.runFor(600);
    expect(stage.attemptsOf('dev-1')).toBe(1);
    // Never calibrated: its counters are not used as proof.
    expect(receipt.status).toBe('unknown');
  });

  test('the first receipt ever: a lost request is proven absent and sent again', async () => {
    stage = new Stage();
    stage.addDevice('dev-1', {}, EXCLUSIVE);
    stage.script.push({ fate: 'lost request' });
    const receipt = stage.accept('dev-1');
    await stage.runFor(240);
    expect(receipt).toMatchObject({ status: 'registered', fiscalSign: expect.any(String) });
  });

  test.each([
    ['exclusive', 'registered'],
    ['shared', 'unknown'],
  ] as const)('a lost answer on a calibrated device that is %s: %s', async (sharing, expected) => {
    stage = new Stage();
    stage.addDevice('dev-1', { sequenceOffset: 1, tiyinPerUnit: 100 }, { sharing });
    for (let before = 0; before < 3; before += 1) stage.accept('dev-1');
    await stage.runFor(1);
    stage.script.push({ fate: 'lost answer' });
    const lost = stage.accept('dev-1');
    const next = stage.accept('dev-1');
    await stage.runFor(240);
    expect(lost).toMatchObject({ status: expected, fiscalSign: null });
    expect(next.status).toBe('registered');
  });

  test.each([
    ['F-003', 'exclusive', 'registered'],
    ['F-002', 'exclusive', 'registered'],
    ['F-005', 'shared', 'unknown'],
  ] as const)(
    '%s after the module has registered, on a device that is %s: %s, and once',
    async (code, sharing, expected) => {
      stage = new Stage();
      const register = stage.addDevice('dev-1', {}, { sharing });
      for (let before = 0; before < 3; before += 1) stage.accept('dev-1');
      await stage.runFor(1);
      register.failsAfterNext = code;
      const receipt = stage.accept('dev-1');
      const next = stage.accept('dev-1');
      await stage.runFor(240);
      // That nothing is doubled is asked after each test.
      expect([receipt.status, next.status]).toEqual([expected, 'registered']);
    },
  );

  test('a module that cannot be read after its refusal: the receipt waits for the counters, and is sent again', async () => {
    stage = new Stage();
    const register = stage.addDevice('dev-1', {}, EXCLUSIVE);
    for (let before = 0; before < 3; before += 1) stage.accept('dev-1');
    await stage.runFor(1);
    stage.server.onIntent = () => {
      stage.server.onIntent = () => undefined;
      Object.assign(register, { refusesWith: 'F-003', isMuteWhenRefusing: true });
    };
    const receipt = stage.accept('dev-1');
    stage.at(20_000, () => expect(receipt.status).toBe('sending'));
    stage.at(60_000, () => (register.refusesWith = null));
    await stage.runFor(400);
    expect(receipt).toMatchObject({ status: 'registered', fiscalSign: expect.any(String) });
  });

  test('a request that is asleep when its receipt is parked is waited out before the next one is sent', async () => {
    stage = new Stage();
    const phone = stage.addDevice('dev-1', {}, EXCLUSIVE);
    for (let before = 0; before < 3; before += 1) stage.accept('dev-1');
    await stage.runFor(1);
    stage.script.push({ fate: 'late request', workMs: 60_000 }, { fate: 'lost request' });
    const parked = stage.accept('dev-1');
    const next = stage.accept('dev-1');
    stage.at(2_000, () => phone.sleep());
    stage.at(5_000, () => stage.park({ mustSettle: true }));
    stage.at(1_000_000, () => phone.wake());
    await stage.runFor(2_000);
    expect(parked.status).toBe('unknown');
    expect(next.status).toBe('registered');
    expect(stage.promises.entryOf(parked.id)!.seq).toBeLessThan(stage.promises.entryOf(next.id)!.seq);
  });

  test('a request that is asleep when a restore holds its receipt passes for no other one', async () => {
    stage = new Stage();
    stage.addDevice('dev-1', {}, EXCLUSIVE);
    for (let before = 0; before < 3; before += 1) stage.accept('dev-1');
    await stage.runFor(1);
    stage.script.push({ fate: 'late request', workMs: 85_000 }, { fate: 'lost request' });
    const held = stage.accept('dev-1');
    const next = stage.accept('dev-1');
    // Of the same sums: its growth would fit.
    next.document = {
      ...held.document,
      lines: held.document.lines.map((line) => ({ ...line, name: next.id })),
    };
    stage.at(5_000, () => stage.ledger.holdCopied(held));
    await stage.runFor(900);
    expect([held.status, next.status]).toEqual(['unknown', 'registered']);
    expect(stage.promises.entryOf(held.id)!.seq).toBeLessThan(stage.promises.entryOf(next.id)!.seq);
  });

  test('an answer that comes after an operator wanted it sent again keeps it from being sent again', async () => {
    stage = new Stage();
    stage.addDevice('dev-1', {});
    stage.script.push({ fate: 'late answer' });
    const receipt = stage.accept('dev-1');
    stage.at(5_000, () => {
      stage.park({ mustSettle: true });
      stage.ledger.sendAgain(receipt);
    });
    await stage.runFor(600);
    expect(receipt).toMatchObject({ status: 'registered', fiscalSign: expect.any(String) });
    expect(stage.attemptsOf('dev-1')).toBe(1);
  });

  test('a database that is away for twenty seconds when the answer comes does not make the receipt unknown', async () => {
    stage = new Stage();
    stage.addDevice('dev-1', {});
    stage.script.push({ fate: 'late answer' });
    const receipt = stage.accept('dev-1');
    stage.at(40_000, () => (stage.server.down = true));
    stage.at(65_000, () => (stage.server.down = false));
    await stage.runFor(120);
    expect(receipt).toMatchObject({ status: 'registered', fiscalSign: expect.any(String) });
  });

  test('an answer in hand is kept for as long as the database is away', async () => {
    stage = new Stage();
    stage.addDevice('dev-1', {});
    stage.script.push({ fate: 'late answer' });
    const receipt = stage.accept('dev-1');
    stage.at(40_000, () => (stage.server.down = true));
    stage.at(1_240_000, () => (stage.server.down = false));
    await stage.runFor(1_500);
    expect(receipt).toMatchObject({ status: 'registered', fiscalSign: expect.any(String) });
  });

  test('a refusal that the counters contradict is no refusal', async () => {
    stage = new Stage();
    const register = stage.addDevice('dev-1', {}, EXCLUSIVE);
    const process = register.process.bind(register);
    register.process = (body, options) => {
      process(body, options);
      register.process = process;
      return { kind: 'refused', httpStatus: 400, code: 'E-010', message: 'not true' };
    };
    const receipt = stage.accept('dev-1');
    await stage.runFor(300);
    expect(receipt.status).toBe('unknown');
  });

  test('a parked request on a register that has keys by now: adopted, the lane goes on at once', async () => {
    stage = new Stage();
    const register = stage.addDevice('dev-1', {});
    stage.script.push({ fate: 'lost request' });
    const parked = stage.accept('dev-1');
    const next = stage.accept('dev-1');
    // Our register was installed in the place of the other one while the request was on its way.
    stage.at(30_000, () => {
      register.kind.keyed = true;
      register.replaceModule();
    });
    await stage.runFor(120);
    expect([parked.status, stage.ledger.devices.get('dev-1')!.state]).toEqual(['sending', 'replaced']);
    stage.ledger.adopt('dev-1');
    expect(stage.ledger.laneOf('dev-1').mustSettle).toBe(true);
    stage.relays[0]!.wake('dev-1');
    await stage.runFor(5);
    expect(next.status).toBe('registered');
    expect(stage.ledger.laneOf('dev-1').mustSettle).toBe(false);
    expect(stage.ledger.devices.get('dev-1')).toMatchObject({ state: 'online', journalId: expect.any(String) });
  });

  test('a copy of the module that was put back shows by its sums, though others sold until its sequence caught up', async () => {
    stage = new Stage();
    const register = stage.addDevice('dev-1', {}, EXCLUSIVE);
    for (let before = 0; before < 3; before += 1) stage.accept('dev-1');
    await stage.runFor(5);
    const fmInfo = register.fmInfo.bind(register);
    register.fmInfo = () => {
      const info = fmInfo();
      const sums = { AccumulatedSaleCash: 1, AccumulatedSaleCard: 1, AccumulatedSaleVAT: 1 };
      return { ...info, ...sums, currentReceiptSeq: info.currentReceiptSeq + 2 };
    };
    const next = stage.accept('dev-1');
    await stage.runFor(5);
    expect([next.status, stage.ledger.devices.get('dev-1')!.state]).toEqual(['accepted', 'replaced']);
  });

  test('pacing', async () => {
    stage = new Stage();
    stage.addDevice('dev-1', {}, { pacingMs: 1_000 });
    const receipts = Array.from({ length: 5 }, () => stage.accept('dev-1'));
    await stage.runFor(30);
    const times = receipts.map(({ updatedAtMs, status }) => (status === 'registered' ? updatedAtMs : 0));
    times.slice(1).forEach((time, index) => expect(time - times[index]!).toBeGreaterThanOrEqual(1_000));
  });
});

describe('registers with keys', () => {
  const KEYED = { keyed: true };

  test('on a slow line an unclear answer is resolved at once all the same', async () => {
    stage = new Stage();
    stage.addDevice('dev-1', { ...KEYED, lagMs: 2_000 });
    stage.script.push({ fate: 'lost answer' });
    const receipt = stage.accept('dev-1');
    await stage.runFor(90);
    expect(receipt).toMatchObject({ status: 'registered', fiscalSign: expect.any(String) });
  });

  test('a receipt that was parked, woke up and is sent again finds its registration, whatever was sold since', async () => {
    stage = new Stage();
    const phone = stage.addDevice('dev-1', KEYED);
    stage.script.push({ fate: 'late request', workMs: 30_000 });
    const receipt = stage.accept('dev-1');
    stage.at(1_000, () => phone.sleep());
    stage.at(5_000, () => stage.park({ mustSettle: false }));
    stage.at(120_000, () => phone.wake());
    await stage.runFor(300);
    for (let after = 0; after < 3; after += 1) stage.accept('dev-1');
    await stage.runFor(60);
    stage.ledger.sendAgain(receipt);
    await stage.runFor(60);
    expect(receipt.status).toBe('registered');
    expect(stage.attemptsOf('dev-1')).toBe(5);
  });

  test('what a person sends again is not cancelled because its payment hold has run out: it may be registered', async () => {
    stage = new Stage();
    const phone = stage.addDevice('dev-1', KEYED);
    stage.script.push({ fate: 'late request', workMs: 30_000 });
    const receipt = stage.accept('dev-1');
    receipt.dispatchBeforeMs = 20_000;
    stage.at(1_000, () => phone.sleep());
    stage.at(5_000, () => stage.park({ mustSettle: false }));
    stage.at(120_000, () => phone.wake());
    await stage.runFor(300);
    stage.ledger.sendAgain(receipt);
    await stage.runFor(60);
    expect(receipt).toMatchObject({ status: 'registered', fiscalSign: expect.any(String) });
  });

  test.each([
    ['a first sending', 0, 5_000],
    ['a repetition', 1, 65_000],
  ])('the answer to %s proves a receipt that was parked meanwhile', async (_what, lost, parkedAtMs) => {
    stage = new Stage();
    stage.addDevice('dev-1', KEYED);
    for (let sending = 0; sending < lost; sending += 1) stage.script.push({ fate: 'lost answer' });
    stage.script.push({ fate: 'late answer' });
    const receipt = stage.accept('dev-1');
    stage.at(parkedAtMs, () => {
      expect(receipt.status).toBe('sending');
      stage.park({ mustSettle: false });
    });
    await stage.runFor(1_200);
    expect(receipt).toMatchObject({ status: 'registered', fiscalSign: expect.any(String) });
    expect(stage.attemptsOf('dev-1')).toBe(1);
  });

  test('a relay that has lost the lane may not reject what its successor is repeating', async () => {
    stage = new Stage(2);
    const register = stage.addDevice('dev-1', { ...KEYED, lagMs: 900 });
    stage.accept('dev-1');
    await stage.runFor(10);
    const [first, second] = stage.relays;
    register.refusesWith = 'E-014';
    stage.server.onIntent = () => {
      stage.server.onIntent = () => undefined;
      first!.locks.loseSession(600_000);
      second!.wake('dev-1');
      stage.time.after(2_200, () => (register.refusesWith = null));
    };
    const receipt = stage.accept('dev-1');
    await stage.runFor(600);
    expect(receipt.status).toBe('registered');
  });

  test('a relay that stood still within its guard repeats nothing that was refused for good, however short the settle time', async () => {
    stage = new Stage(2);
    const [frozen, other] = stage.relays;
    const register = stage.addDevice('dev-1', KEYED, { settleMs: 1_000 });
    stage.accept('dev-1');
    await stage.runFor(90);
    stage.script.push({ fate: 'lost request' });
    const fmInfo = register.fmInfo.bind(register);
    const whileWeAskWhoIsThere = (): ReturnType<typeof fmInfo> => {
      register.fmInfo = fmInfo;
      register.refusesWith = 'E-014';
      frozen!.process.pause();
      frozen!.locks.loseSession(600_000);
      stage.time.after(100, () => other!.wake('dev-1'));
      stage.time.after(1_500, () => (register.refusesWith = null));
      stage.time.after(1_600, () => frozen!.process.goOn(false));
      return fmInfo();
    };
    stage.server.onIntent = () => {
      stage.server.onIntent = () => undefined;
      register.fmInfo = whileWeAskWhoIsThere;
    };
    const receipt = stage.accept('dev-1');
    await stage.runFor(600);
    expect(receipt.status).toBe('registered');
  });
});

describe('any register', () => {
  test('a shift that is reported open and is not: tried again ever more rarely', async () => {
    stage = new Stage();
    const register = stage.addDevice('dev-1', { keyed: true });
    register.shiftOpen = false;
    // It says yes and stays closed.
    Object.defineProperty(register, 'shiftOpen', { get: () => false, set: () => undefined });
    const receipt = stage.accept('dev-1');
    await stage.runFor(3_600);
    expect(receipt.status).toBe('accepted');
    expect(stage.attemptsOf('dev-1')).toBeLessThan(80);
  });

  test('a shift that was closed is opened beneath the receipt, at once', async () => {
    stage = new Stage();
    stage.addDevice('dev-1', { keyed: true }).shiftOpen = false;
    const receipt = stage.accept('dev-1');
    await stage.runFor(0.2);
    expect(receipt.status).toBe('registered');
  });

  test('a pause between the intent and the first byte: nothing is sent, and the register is not called unreachable', async () => {
    stage = new Stage();
    stage.addDevice('dev-1', {});
    stage.server.onIntent = (process) => {
      stage.server.onIntent = () => undefined;
      process.pause();
      stage.time.after(1_500, () => process.goOn(false));
    };
    const receipt = stage.accept('dev-1');
    await stage.runFor(60);
    expect(receipt.status).toBe('registered');
    expect(stage.attemptsOf('dev-1')).toBe(2);
    expect(stage.happened('unreachable')).toBe(false);
  });

  test('a receipt that is cancelled while the one before it is sent: the one behind it follows', async () => {
    stage = new Stage();
    stage.addDevice('dev-1', { lagMs: 50 });
    const [first, second, third] = [stage.accept('dev-1'), stage.accept('dev-1'), stage.accept('dev-1')];
    stage.at(60, () => stage.ledger.cancel(second));
    await stage.runFor(5);
    expect([first.status, second.status, third.status]).toEqual(['registered', 'cancelled', 'registered']);
  });

  test('two devices that reach one and the same register: the second is blocked and says why', async () => {
    stage = new Stage();
    const first = stage.addDevice('dev-1', {});
    const second = stage.addDevice('dev-2', {});
    second.fmInfo = () => first.fmInfo();
    stage.accept('dev-1');
    await stage.runFor(1);
    const receipt = stage.accept('dev-2');
    await stage.runFor(60);
    expect(receipt.status).toBe('accepted');
    expect(stage.ledger.devices.get('dev-2')!.state).toBe('blocked');
    expect(stage.happened('belongs to another device')).toBe(true);
  });
});

test('a block that only a sale can show stays until a sale goes through, and is not lifted by each try', async () => {
  stage = new Stage();
  const register = stage.addDevice('dev-1', { keyed: true }, {});
  register.refusesWith = 'E-016';
  const receipt = stage.accept('dev-1');
  const states = new Set<string>();
  const device = stage.ledger.devices.get('dev-1')!;
  // At odd moments, also between the register's word that it is well and its refusal of the sale.
  for (let ms = 2_000; ms < 60_000; ms += 1) stage.at(ms, () => states.add(device.state));
  stage.at(60_000, () => (register.refusesWith = null));
  await stage.runFor(120);
  expect([...states]).toEqual(['blocked']);
  expect([receipt.status, device.state]).toEqual(['registered', 'online']);
});
