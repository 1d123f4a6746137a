import { toLocalReceipt } from '#fiscal-domain';
import type { ReceiptRow } from './ledger-rows.js';
import { documentOf } from './documents.js';
import type { RegisterModel } from './register-model.js';
import { strikeSentAgain } from './strikes.js';
import type { World } from './world.js';

const REFUSALS = ['E-014', 'E-001', 'E-002', 'E-016', 'F-001', 'F-003', 'S-001', 'S-003'];

/** What a register without keys may say although its module has just registered. */
const MODULE_FAILURES = ['F-002', 'F-003', 'F-005', 'S-003'];

/** Everything that goes wrong by itself, again and again until the world is healed. */
export function scheduleFaults(world: World): void {
  relaysFail(world);
  databaseFails(world);
  registersFail(world);
  peopleAct(world);
  for (const register of world.registers.values()) {
    if (register.kind.phone) doze(world, register);
    const { sharing } = world.ledger.devices.get(register.deviceId)!.profile;
    if (!register.kind.keyed && sharing === 'shared') sellBeside(world, register);
  }
}

/** `fromS`–`toS`: seconds between one occurrence and the next. */
function again(world: World, [fromS, toS]: readonly [number, number], occur: () => void): void {
  world.time.after(world.chance.between(fromS, toS) * 1_000, () => {
    if (world.healed) return;
    occur();
    again(world, [fromS, toS], occur);
  });
}

function relaysFail(world: World): void {
  const { chance, time } = world;
  again(world, [150, 700], () => {
    const slot = Math.floor(chance.next() * world.relays.length);
    const relay = world.relays[slot]!;
    const gracefully = chance.happens(0.3);
    world.fault(gracefully ? 'relay stopped' : 'relay killed', relay.id);
    const stopMs = gracefully ? chance.between(0, 7_000) : 0;
    if (gracefully) relay.stop(stopMs);
    else relay.kill();
    time.after(stopMs + chance.between(500, 20_000), () => world.startRelay(slot));
  });
  again(world, [40, 200], () => {
    const relay = chance.pick(world.relays);
    if (!relay.process.running) return;
    const pauseS = chance.pick([chance.between(0.3, 3), chance.between(3, 60), chance.between(60, 500)]);
    world.fault('relay paused', `${relay.id} for ${pauseS.toFixed(1)} s`);
    relay.process.pause();
    if (chance.happens(0.4)) {
      world.fault('session lost', relay.id);
      relay.locks.loseSession(pauseS * 1_000 + chance.between(1, 20_000));
    }
    const suspended = chance.happens(0.2);
    time.after(pauseS * 1_000, () => relay.process.goOn(suspended));
  });
  again(world, [60, 400], () => {
    const relay = chance.pick(world.relays);
    const learnsS = chance.pick([chance.between(0, 0.1), chance.between(0.1, 15), chance.between(15, 600)]);
    world.fault('session lost', `${relay.id} learns after ${learnsS.toFixed(1)} s`);
    relay.locks.loseSession(learnsS * 1_000, true);
  });
}

function databaseFails(world: World): void {
  const { chance, time, server } = world;
  again(world, [500, 1_500], () => {
    if (server.down) return;
    world.fault('database down');
    server.down = true;
    for (const relay of world.relays) relay.locks.loseSession(chance.between(0, 2_000));
    time.after(chance.between(500, 40_000), () => {
      server.down = false;
    });
  });
  again(world, [300, 900], () => {
    world.fault('queue down');
    world.queueDown = true;
    time.after(chance.between(10_000, 200_000), () => {
      world.queueDown = false;
    });
  });
}

function registersFail(world: World): void {
  const { chance, time } = world;
  const registers = [...world.registers.values()];
  const during = (fromS: number, toS: number, mend: () => void): void => {
    time.after(chance.between(fromS, toS) * 1_000, mend);
  };
  again(world, [60, 300], () => {
    const register = chance.pick(registers);
    register.refusesWith = chance.pick(REFUSALS);
    world.fault('register refuses', `${register.deviceId} ${register.refusesWith}`);
    during(2, 200, () => (register.refusesWith = null));
  });
  again(world, [100, 600], () => {
    const register = chance.pick(registers);
    // One with keys registers and answers from its journal in one transaction.
    if (register.kind.keyed) return;
    register.failsAfterNext = chance.pick(MODULE_FAILURES);
    world.fault('register fails after registering', `${register.deviceId} ${register.failsAfterNext}`);
  });
  again(world, [30, 200], () => {
    const register = chance.pick(registers);
    world.fault('shift closed', register.deviceId);
    register.shiftOpen = false;
    register.refusesToOpenShift = chance.happens(0.3);
    during(1, 60, () => (register.refusesToOpenShift = false));
  });
  again(world, [100, 400], () => {
    const register = chance.pick(registers);
    world.fault('OFD down', register.deviceId);
    register.ofdDown = true;
    during(20, 200, () => (register.ofdDown = false));
  });
  again(world, [200, 900], () => {
    const register = chance.pick(registers);
    world.nap(register, chance.between(30_000, 120_000));
  });
  again(world, [900, 9_000], () => {
    world.replace(chance.pick(registers));
  });
}

/** Awake for minutes, asleep for half a minute to longer than any receipt is waited for. */
function doze(world: World, register: RegisterModel): void {
  const { chance, time } = world;
  time.after(chance.between(20, 900) * 1_000, () => {
    if (world.healed) return;
    const napS = chance.happens(0.05) ? chance.between(1_300, 2_500) : chance.between(30, 300);
    world.nap(register, napS * 1_000);
    time.after(napS * 1_000, () => doze(world, register));
  });
}

/** A cashier sells on the same register; often exactly what the gateway sends just now. */
function sellBeside(world: World, register: RegisterModel): void {
  const { chance, ledger } = world;
  again(world, [5, 120], () => {
    if (register.asleep) return;
    const open = ledger.openAttemptOf(register.deviceId);
    const document =
      open && chance.happens(0.8) ? ledger.receipts.get(open.receiptId)!.document : documentOf('foreign', chance);
    world.fault('foreign sale', register.deviceId);
    register.sellForeign(toLocalReceipt(document, 'unit'));
  });
}

function peopleAct(world: World): void {
  const { chance, ledger, time } = world;
  const devices = [...ledger.devices.values()];
  again(world, [100, 400], () => {
    const device = chance.pick(devices);
    const open = ledger.openAttemptOf(device.id);
    if (!open) return;
    world.fault('operator parks', ledger.nameOf(open.id));
    ledger.closeUnknown(
      { attemptId: open.id, receiptId: open.receiptId },
      { baseline: open.baseline, why: 'parked by an operator' },
      { mustSettle: !device.keyed },
    );
  });
  again(world, [20, 60], () => {
    // A cashier once sells where no one should; the receipts after it no longer count as proven.
    const register = world.registers.get('dev-6')!;
    if (!chance.happens(0.03) || register.asleep) return;
    world.fault('foreign sale', register.deviceId);
    const sale = toLocalReceipt(documentOf('foreign', chance), 'unit');
    register.sellForeign({ ...sale, received: { cash: sale.received.cash * 3, card: sale.received.card * 3 } });
  });
  // These two go on after the faults have ended: a person has to.
  const adopt = (): void => {
    for (const { id, state } of devices) if (state === 'replaced') ledger.adopt(id);
    time.after(chance.between(60_000, 300_000), adopt);
  };
  adopt();
  again(world, [20, 90], () => {
    const unknown = [...ledger.unknown].filter((receipt) => maySendAgain(world, receipt));
    if (unknown.length === 0) return;
    const receipt = chance.pick(unknown);
    world.fault('operator sends again', receipt.id);
    ledger.sendAgain(receipt);
    strikeSentAgain(world, receipt.deviceId);
    world.ring(receipt.deviceId);
  });
}

/** Where the register still has its keys, sending again is safe whatever became of the first. */
function maySendAgain(world: World, { id, status, deviceId }: ReceiptRow): boolean {
  const device = world.ledger.devices.get(deviceId)!;
  if (status !== 'unknown' || !device.keyed) return false;
  const entry = world.promises.entryOf(id);
  return entry === undefined || entry.terminalId === world.registers.get(deviceId)!.fmInfo().terminalId;
}
