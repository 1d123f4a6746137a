import { createLogger } from '#runtime';
import { DEFAULT_PROFILE, type DeviceProfile } from '#fiscal-domain';
import type { Registers } from '../../../devices/register.js';
import { Chance, Trace } from './chance.js';
import { DatabaseServer, type DatabaseFaults } from './database-client.js';
import { documentOf } from './documents.js';
import { scheduleFaults } from './fault-plan.js';
import { mayStrike, mayStrikeIntent, strikeBeside } from './strikes.js';
import { Ledger } from './gateway-ledger.js';
import type { SimulatedProcess } from './process.js';
import { Promises } from './promises.js';
import { SimulatedLine, type RegisterFaults } from './register-line.js';
import { REFUSED_DOCUMENT, RegisterModel, type RegisterKind } from './register-model.js';
import { SimulatedRelay } from './relay.js';
import { SimulatedSpool } from './spool.js';
import { VirtualTime } from './virtual-time.js';

interface DeviceKind extends RegisterKind {
  profile: Partial<DeviceProfile>;
}

const SPEC_ONLY = {
  ...{ keyed: false, phone: false, lagMs: 1, sequenceOffset: 0, tiyinPerUnit: 1 },
  worstWorkMs: 90_000,
};
const EXCLUSIVE = { sharing: 'exclusive', pacingMs: 0 } as const;

/** One of each kind that behaves differently. */
const DEVICES: readonly DeviceKind[] = [
  // The shortest settle time that the API takes.
  { ...SPEC_ONLY, keyed: true, worstWorkMs: 800, profile: { pacingMs: 0, settleMs: 1_000 } },
  { ...SPEC_ONLY, keyed: true, phone: true, profile: { pacingMs: 0 } },
  { ...SPEC_ONLY, keyed: true, lagMs: 900, profile: { pacingMs: 0 } },
  { ...SPEC_ONLY, profile: EXCLUSIVE },
  { ...SPEC_ONLY, phone: true, sequenceOffset: 1, profile: EXCLUSIVE },
  { ...SPEC_ONLY, sequenceOffset: -1, tiyinPerUnit: 100, profile: { sharing: 'exclusive', pacingMs: 1_000 } },
  { ...SPEC_ONLY, profile: { pacingMs: 0 } },
  { ...SPEC_ONLY, phone: true, profile: { pacingMs: 0 } },
];

/** So often the next receipt comes at once, to the same register: it waits behind the one before. */
const BURSTS = 0.3;
const PARK_AFTER_MS = 1_200_000;
/** After everything has healed, every lane must be empty within this. */
const HEALED_DEADLINE_MS = PARK_AFTER_MS + 7_200_000;
const RELAYS = 2;
const FEW = 150;
const LONGEST_MS = 10 * 3_600_000;

export interface WorldResult {
  seed: number;
  receipts: number;
  faults: number;
  /** By final status. */
  registered: number;
  rejected: number;
  cancelled: number;
  unknown: number;
  /** Of those unknown, how many really were in a journal. */
  unknownButRegistered: number;
  doubled: number;
  lost: number;
  /** Intents that were written with the result before. */
  together: number;
  simulatedHours: number;
  steps: number;
  trace: string;
  broken: string[];
  faultKinds: Map<string, number>;
}

/** Everything that one seed is made of: ledger, relays, registers, and what goes wrong. */
export class World {
  readonly time = new VirtualTime();
  readonly chance: Chance;
  readonly trace = new Trace();
  readonly promises = new Promises(this.time, this.trace);
  readonly ledger = new Ledger(this.time, this.promises, this.trace);
  readonly server: DatabaseServer;
  readonly registers = new Map<string, RegisterModel>();
  readonly relays: SimulatedRelay[] = [];
  private readonly spools = Array.from({ length: RELAYS }, () => new SimulatedSpool());
  readonly faultKinds = new Map<string, number>();
  healed = false;
  queueDown = false;
  private readonly registerFaults: RegisterFaults;
  private readonly databaseFaults: DatabaseFaults;
  private relaysSoFar = 0;
  private accepted = 0;
  private over = false;

  constructor(readonly options: { seed: number; receipts: number; harshness: number }) {
    const { seed, harshness } = options;
    this.chance = new Chance(seed);
    const often = 0.01 * harshness;
    this.registerFaults = {
      ...{ lostRequest: often, lostAnswer: often, lateRequest: often, lateAnswer: often / 2, oddAnswer: often / 2 },
      refusedConnection: often,
    };
    this.databaseFaults = {
      lostStatement: 0.0005 * harshness,
      lostCommit: 0.0005 * harshness,
      lateCommit: 0.0005 * harshness,
      slow: 0.002 * harshness,
    };
    this.server = new DatabaseServer(this.time, this.chance, this.ledger, this.databaseFaults);
    DEVICES.forEach((kind, index) => this.addDevice(`dev-${index + 1}`, index + 1, kind));
    this.server.onIntent = (writer) => {
      const relay = this.relays.find(({ process }) => process === writer);
      if (relay) mayStrikeIntent(this, relay);
    };
    for (let slot = 0; slot < RELAYS; slot += 1) this.startRelay(slot);
  }

  async run(): Promise<WorldResult> {
    scheduleFaults(this);
    this.acceptNext();
    await this.time.run(() => this.over || this.promises.broken.length > 0);
    return this.result();
  }

  /** What happened, for the trace and for the row. */
  fault(kind: string, detail = ''): void {
    this.faultKinds.set(kind, (this.faultKinds.get(kind) ?? 0) + 1);
    this.trace.note(this.time.nowMs, `! ${kind} ${detail}`);
  }

  startRelay(slot: number): void {
    this.relaysSoFar += 1;
    this.relays[slot] = new SimulatedRelay(`rly-${this.relaysSoFar}`, {
      server: this.server,
      logger: LOGGER,
      registersOf: (caller) => this.registersOf(caller),
      ringAgain: (deviceId) => this.ring(deviceId),
      onCall: (relay) => mayStrike(this, relay),
      spool: this.spools[slot]!,
    });
  }

  /** Asleep, or cut off: what is on its way waits. */
  nap(register: RegisterModel, napMs: number): void {
    if (register.asleep || this.healed) return;
    this.fault('asleep', register.deviceId);
    register.sleep();
    this.time.after(napMs, () => register.wake());
  }

  /** Another fiscal module stands there from now on. */
  replace(register: RegisterModel): void {
    if (this.healed) return;
    this.fault('register replaced', register.deviceId);
    const device = this.ledger.devices.get(register.deviceId)!;
    // Now and then by one of another make: with keys in place of one without, or the other way round.
    if (device.changesMake && this.chance.happens(0.3)) register.kind.keyed = device.keyed = !device.keyed;
    register.replaceModule();
  }

  /** The queue takes a lane's bell to one of the relays, or loses it. */
  ring(deviceId: string): void {
    if (this.queueDown || this.chance.happens(0.01)) return;
    this.time.after(this.chance.between(0.5, 3), () => this.chance.pick(this.relays).wake(deviceId));
  }

  private addDevice(id: string, lockNumber: number, { profile, ...kind }: DeviceKind): void {
    const register = new RegisterModel(id, kind, {
      time: this.time,
      chance: this.chance,
      appended: (receiptId, { terminalId, seq, attemptId }) => {
        this.trace.note(this.time.nowMs, `${id} ${receiptId} in the journal as ${terminalId}/${seq}`);
        const receipt = this.ledger.receipts.get(receiptId)!;
        this.promises.appended({ receiptId, deviceId: id, terminalId, seq }, receipt, { attemptId, keyed: kind.keyed });
      },
    });
    this.registers.set(id, register);
    const row = { ...DEFAULT_PROFILE, parkAfterMs: PARK_AFTER_MS, ...profile };
    this.ledger.addDevice(
      {
        id,
        state: 'online',
        profile: row,
        terminalId: null,
        journalId: null,
        keyed: kind.keyed,
        changesMake: kind.keyed,
      },
      lockNumber,
    );
  }

  private registersOf(caller: SimulatedProcess): Registers {
    const { time, chance, ledger } = this;
    return {
      of: (device) =>
        new SimulatedLine(caller, this.registers.get(device.id)!, device, {
          ...{ time, chance, faults: this.registerFaults },
          openAttemptOf: (deviceId) => ledger.openAttemptOf(deviceId)?.id ?? 'none',
          count: (kind) => {
            this.fault(kind, device.id);
            strikeBeside(this, device.id, kind);
          },
        }),
    };
  }

  private acceptNext(burstTo: string | null = null): void {
    const { chance, time } = this;
    this.accepted += 1;
    const id = `rcp-${this.accepted}${chance.happens(0.01) ? REFUSED_DOCUMENT : ''}`;
    const deviceId = burstTo ?? `dev-${1 + Math.floor(chance.next() * DEVICES.length)}`;
    this.ledger.accept({
      ...{ id, deviceId, place: this.accepted, status: 'accepted', document: documentOf(id, chance) },
      ...{ updatedAtMs: time.nowMs, openAttemptId: null, terminalId: null, receiptSeq: null, fiscalSign: null },
      sentAgainByOperator: false,
      attempts: [],
    });
    this.ring(deviceId);
    if (chance.happens(0.01))
      time.after(chance.between(0, 20_000), () => this.ledger.cancel(this.ledger.receipts.get(id)!));
    if (this.accepted >= this.options.receipts) this.healWhenDone();
    else if (chance.happens(BURSTS)) time.after(chance.between(0, 5), () => this.acceptNext(deviceId));
    else time.after(chance.between(0, 2_400), () => this.acceptNext());
  }

  /** What waits is still sent under faults; only the last of it may need a world that is whole. */
  private healWhenDone(): void {
    if (this.ledger.unfinished <= FEW || this.time.nowMs > LONGEST_MS) this.heal();
    else this.time.after(10_000, () => this.healWhenDone());
  }

  /** Nothing goes wrong any more: whatever is left must now come to its end. */
  private heal(): void {
    this.healed = true;
    this.queueDown = false;
    this.server.down = false;
    for (const faults of [this.registerFaults, this.databaseFaults])
      for (const key of Object.keys(faults)) (faults as unknown as Record<string, number>)[key] = 0;
    for (const register of this.registers.values()) {
      register.wake();
      Object.assign(register, {
        shiftOpen: true,
        refusesWith: null,
        refusesToOpenShift: false,
        failsAfterNext: null,
        ofdDown: false,
        losesNext: false,
      });
    }
    for (const relay of this.relays) relay.process.goOn(false);
    this.trace.note(this.time.nowMs, '! healed');
    const deadline = this.time.nowMs + HEALED_DEADLINE_MS;
    const check = (): void => {
      const { unfinished } = this.ledger;
      if (unfinished === 0) this.over = true;
      else if (this.time.nowMs > deadline) this.promises.breaks(`${unfinished} receipts never left their lane`);
      else this.time.after(5_000, check);
    };
    check();
  }

  private result(): WorldResult {
    const rows = [...this.ledger.receipts.values()];
    const countOf = (status: string): number => rows.filter((row) => row.status === status).length;
    return {
      ...{ seed: this.options.seed, receipts: rows.length },
      faults: [...this.faultKinds.values()].reduce((sum, count) => sum + count, 0),
      ...{ registered: countOf('registered'), rejected: countOf('rejected') },
      ...{ cancelled: countOf('cancelled'), unknown: countOf('unknown') },
      unknownButRegistered: rows.filter(({ id, status }) => status === 'unknown' && this.promises.entryOf(id)).length,
      ...{ doubled: this.promises.doubled, lost: this.promises.lost, together: this.ledger.together },
      ...{ simulatedHours: this.time.nowMs / 3_600_000, steps: this.time.steps, trace: this.trace.hash },
      ...{ broken: this.promises.broken, faultKinds: this.faultKinds },
    };
  }
}

const LOGGER = createLogger('simulation', 'silent');
