import type { SimulatedRelay } from './relay.js';
import type { World } from './world.js';

/** Per call that leaves a relay, at harshness 1. */
const PER_CALL = 0.000_3;
/** Per intent, at harshness 1. */
const PER_INTENT = 0.001;

/** Things that go wrong just when something else is under way, where chance alone would hardly ever put them. */
export function mayStrike(world: World, relay: SimulatedRelay): void {
  const { chance, time } = world;
  if (world.healed || !chance.happens(PER_CALL * world.options.harshness)) return;
  // Before the call arrives, before its answer does, or right after it.
  time.after(chance.between(0, 4), () => {
    if (world.healed || !relay.process.running) return;
    const strike = chance.pick([killed, briefly, forLong, unnoticed]);
    strike(world, relay);
  });
}

/** Between the intent and the first byte: the one moment for which the send guard is there. */
export function mayStrikeIntent(world: World, relay: SimulatedRelay): void {
  const { chance, options } = world;
  if (world.healed || !relay.process.running || !chance.happens(PER_INTENT * options.harshness)) return;
  chance.pick([killed, forLong, forLong])(world, relay);
}

function killed(world: World, relay: SimulatedRelay): void {
  world.fault('relay killed', relay.id);
  relay.kill();
  const slot = world.relays.indexOf(relay);
  world.time.after(world.chance.between(100, 5_000), () => world.startRelay(slot));
}

/** Just beyond the send guard; its session stays. */
function briefly(world: World, relay: SimulatedRelay): void {
  pause(world, relay, world.chance.between(900, 5_000));
}

/** Long enough for another relay to settle what it has begun; then it goes on where it was. */
function forLong(world: World, relay: SimulatedRelay): void {
  const pauseMs = world.chance.between(10_000, 500_000);
  pause(world, relay, pauseMs);
  world.fault('session lost', relay.id);
  relay.locks.loseSession(pauseMs + world.chance.between(0, 5_000));
  wakeOthers(world, relay);
}

/** It works on, and so does the one who takes its lanes. */
function unnoticed(world: World, relay: SimulatedRelay): void {
  world.fault('session lost', `${relay.id} unnoticed`);
  relay.locks.loseSession(world.chance.between(1_000, 600_000), true);
  wakeOthers(world, relay);
}

function pause(world: World, relay: SimulatedRelay, pauseMs: number): void {
  world.fault('relay paused', `${relay.id} for ${Math.round(pauseMs)} ms`);
  relay.process.pause();
  const suspended = world.chance.happens(0.2);
  world.time.after(pauseMs, () => relay.process.goOn(suspended));
}

function wakeOthers(world: World, relay: SimulatedRelay): void {
  for (const other of world.relays) {
    if (other === relay) continue;
    for (const deviceId of world.ledger.devices.keys())
      world.time.after(world.chance.between(0, 50), () => other.wake(deviceId));
  }
}

/** A receipt has just met a fault on its way to this register: what would be worst now? */
export function strikeBeside(world: World, deviceId: string, met: string): void {
  const { chance, time, ledger } = world;
  if (world.healed) return;
  const register = world.registers.get(deviceId)!;
  const attempt = ledger.openAttemptOf(deviceId);
  if (met === 'late request' && register.kind.phone && chance.happens(0.4)) {
    time.after(chance.between(100, 80_000), () => world.nap(register, chance.between(30_000, 150_000)));
  }
  if (attempt && chance.happens(met === 'late request' ? 0.3 : 0.05)) {
    const { keyed } = ledger.devices.get(deviceId)!;
    time.after(chance.between(5, 60_000), () => {
      if (attempt.state === 'open' && !world.healed) {
        // The sleeper would pass for the next receipt, had that been lost.
        register.losesNext = chance.happens(0.5);
        world.fault('operator parks', ledger.nameOf(attempt.id));
        ledger.closeUnknown(
          { attemptId: attempt.id, receiptId: attempt.receiptId },
          { baseline: attempt.baseline, why: 'parked by an operator' },
          { mustSettle: !keyed },
        );
      }
    });
  }
  if (met === 'lost answer' && chance.happens(0.02))
    time.after(chance.between(1, 2_000), () => world.replace(register));
}

/**
 * A person has just sent a receipt again, relying on the keys of the module that is there: another one comes in its place,
 * at once or while the receipt still waits for a register that is away.
 */
export function strikeSentAgain(world: World, deviceId: string): void {
  const { chance, time } = world;
  if (!chance.happens(0.3)) return;
  const register = world.registers.get(deviceId)!;
  if (chance.happens(0.5)) world.nap(register, chance.between(30_000, 90_000));
  time.after(chance.between(0, 2_000), () => world.replace(register));
}
