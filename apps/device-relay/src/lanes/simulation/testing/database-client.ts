import { beginConfirmation } from '../../lane-timing.js';
import type { LaneLockHandle, LaneLocks, LaneStore } from '../../ports.js';
import type { Chance } from './chance.js';
import type { LaneLedger } from './ledger.js';
import type { SimulatedProcess } from './process.js';
import type { VirtualTime } from './virtual-time.js';

export interface DatabaseFaults {
  /** Statement never reaches the server. */
  lostStatement: number;
  /** The server did it, no client receives the answer. */
  lostCommit: number;
  /** The client received a lost connection, and the server does it seconds later all the same. */
  lateCommit: number;
  slow: number;
}

/** The server as all relays share it: it can be down, and it ends sessions. */
export class DatabaseServer {
  down = false;
  /** An intent was written just now, and its answer is not delivered yet. */
  onIntent: (writer: SimulatedProcess) => void = () => undefined;
  private lastPid = 1_000;

  constructor(
    readonly time: VirtualTime,
    readonly chance: Chance,
    readonly ledger: LaneLedger,
    readonly faults: DatabaseFaults,
  ) {}

  newPid(): number {
    this.lastPid += 1;
    return this.lastPid;
  }

  /** Its locks are free at once. */
  endSession(pid: number): void {
    for (const [lock, holder] of this.ledger.locks) if (holder === pid) this.ledger.locks.delete(lock);
  }

  /** One statement of a process, with all that may happen to it on its way. */
  statement<T>(caller: SimulatedProcess, apply: () => T): Promise<T> {
    const { time, chance, faults } = this;
    return caller.external<T>((resolve, reject) => {
      const lost = (): void => reject(new Error('the connection to the database was lost'));
      const fate = chance.next();
      const there = chance.happens(faults.slow) ? chance.between(50, 4_000) : chance.between(0.1, 1.2);
      time.after(there, () => {
        if (this.down || fate < faults.lostStatement) return lost();
        if (fate < faults.lostStatement + faults.lateCommit) {
          time.after(chance.between(1, 8_000), () => {
            if (!this.down) this.attempt(apply, () => undefined);
          });
          return lost();
        }
        const outcome = this.attempt(apply, reject);
        if (!outcome) return;
        if (fate > 1 - faults.lostCommit) return lost();
        time.after(chance.between(0.1, 0.8), () => resolve(outcome.value));
      });
    });
  }

  private attempt<T>(apply: () => T, reject: (error: Error) => void): { value: T } | null {
    try {
      return { value: apply() };
    } catch (error) {
      reject(error instanceof Error ? error : new Error(String(error)));
      return null;
    }
  }
}

/** The lane's statements, sent by one relay over the simulated network. */
export function laneStoreOf(relayId: string, caller: SimulatedProcess, server: DatabaseServer): LaneStore {
  const store = storeOver(server.ledger, relayId, (apply) => server.statement(caller, apply));
  return {
    ...store,
    openAttempt: (intent) =>
      server.statement(caller, () => {
        const opened = server.ledger.openAttempt(intent);
        if (opened === 'opened') server.onIntent(caller);
        return opened;
      }),
    closeAndOpen: (close, next) =>
      server.statement(caller, () => {
        const both = server.ledger.closeAndOpen(close, next);
        if (both.opened === 'opened') server.onIntent(caller);
        return both;
      }),
  };
}

/** The ledger as one relay's lane store; `send` takes each statement there. */
export function storeOver(ledger: LaneLedger, relayId: string, send: <T>(apply: () => T) => Promise<T>): LaneStore {
  return {
    // Kept in memory by the real one.
    lockNumberOf: (deviceId) => Promise.resolve(ledger.lockNumberOf(deviceId)),
    read: (deviceId, receipts) => send(() => ledger.read(relayId, deviceId, receipts)),
    unprovenRequest: (receiptId) => send(() => ledger.unprovenRequest(receiptId)),
    openAttempt: (intent) => send(() => ledger.openAttempt(intent)),
    holdFromCopy: () => Promise.resolve(false),
    closeRegistered: (close) => send(() => ledger.closeRegistered(close)),
    closeAndOpen: (close, next) => send(() => ledger.closeAndOpen(close, next)),
    recordLateAnswer: (answer) => send(() => ledger.recordLateAnswer(answer)),
    closeRejected: (attempt, rejection, evidence, laneLock) =>
      send(() => ledger.closeRejected(attempt, rejection, evidence, laneLock)),
    rejectUnsent: (receipt, rejection) => send(() => ledger.rejectUnsent(receipt, rejection)),
    closeNotRegistered: (attempt, evidence, laneLock) =>
      send(() => ledger.closeNotRegistered(attempt, evidence, laneLock)),
    closeUnknown: (attempt, evidence, options) => send(() => ledger.closeUnknown(attempt, evidence, options)),
    noteRefusal: (attempt, evidence) => send(() => ledger.noteRefusal(relayId, attempt, evidence)),
    postpone: (deviceId, wait) => send(() => ledger.postpone(deviceId, wait)),
    beginSettle: (deviceId, afterMs, reason) => send(() => ledger.beginSettle(relayId, deviceId, { afterMs, reason })),
    endSettle: (deviceId, baseline, laneLock) => send(() => ledger.endSettle(deviceId, baseline, laneLock)),
    saveReading: (deviceId, baseline, calibration) => send(() => ledger.saveReading(deviceId, baseline, calibration)),
    markShared: (deviceId, reason) => send(() => ledger.markShared(deviceId, reason)),
    setDeviceState: (deviceId, state, reason) => send(() => ledger.setDeviceState(deviceId, state, reason)),
    saveIdentity: (deviceId, baseline) => send(() => ledger.saveIdentity(deviceId, baseline)),
  };
}

/** As the relay's. */
const HEARTBEAT_MS = 1_000;

interface Session {
  pid: number;
  /** The client's view. */
  alive: boolean;
  onServer: boolean;
  /** The server that answers is not the one that the others use any more: a standby was promoted beside it. */
  isElsewhere: boolean;
  /** It has answered lately. */
  isConfirmed: () => boolean;
  /** Calls that hang until the client detects that no answer will come. */
  hanging: (() => void)[];
}

/** Advisory locks on one dedicated session, as advisory-lane-locks.ts keeps them. */
export class SimulatedLocks implements LaneLocks {
  private readonly inHand = new Set<number>();
  private session: Session | null = null;

  constructor(
    private readonly caller: SimulatedProcess,
    private readonly server: DatabaseServer,
    private readonly relayId: string,
  ) {
    this.connect();
  }

  /**
   * The server ends the session now; the client learns it later, the locks are free at once.
   * @param isElsewhere its heartbeats are answered all the same
   */
  loseSession(learnsAfterMs: number, isElsewhere = false): void {
    const { session, server } = this;
    if (!session?.onServer) return;
    Object.assign(session, { onServer: false, isElsewhere });
    server.endSession(session.pid);
    server.time.after(learnsAfterMs, () => this.caller.enter(() => this.learn(session)));
  }

  /** The process died. */
  end(): void {
    if (!this.session) return;
    this.session.onServer = false;
    this.server.endSession(this.session.pid);
  }

  async tryTake(lockNumber: number): Promise<LaneLockHandle | null> {
    const { session } = this;
    if (!session?.alive || this.inHand.has(lockNumber)) return null;
    this.inHand.add(lockNumber);
    const { locks } = this.server.ledger;
    const taken = await this.ask(session, () => {
      if (locks.has(lockNumber)) return false;
      locks.set(lockNumber, session.pid);
      return true;
    });
    if (taken) return this.handleOn(session, lockNumber);
    this.inHand.delete(lockNumber);
    return null;
  }

  private handleOn(session: Session, lockNumber: number): LaneLockHandle {
    const { ledger, chance } = this.server;
    const { locks } = ledger;
    const giveBack = async (question: () => boolean | null): Promise<boolean | null> => {
      const answer = await this.ask(session, () => {
        if (locks.get(lockNumber) === session.pid) locks.delete(lockNumber);
        return question();
      });
      this.inHand.delete(lockNumber);
      return answer;
    };
    return {
      lockNumber,
      backendPid: session.pid,
      serverStartedAt: '',
      isHeld: () => session.alive && session.isConfirmed(),
      release: async () => {
        await giveBack(() => null);
      },
      // Now and then a table is being changed, and it is not asked.
      releaseAndAsk: () => giveBack(() => (chance.happens(0.1) ? null : ledger.isDue(this.relayId, lockNumber))),
    };
  }

  /** Null when the session is gone. */
  private ask(session: Session, apply: () => boolean | null): Promise<boolean | null> {
    const { time, chance } = this.server;
    return this.caller.external<boolean | null>((resolve) => {
      if (!session.alive) {
        resolve(null);
        return;
      }
      time.after(chance.between(0.1, 1), () => {
        if (!session.onServer) {
          if (session.alive) session.hanging.push(() => resolve(null));
          else resolve(null);
          return;
        }
        const applied = apply();
        time.after(chance.between(0.1, 0.8), () => resolve(applied));
      });
    });
  }

  private learn(session: Session): void {
    session.alive = false;
    this.session = null;
    for (const hang of session.hanging) hang();
    this.server.time.after(this.server.chance.between(50, 2_000), () => this.caller.enter(() => this.connect()));
  }

  private connect(): void {
    if (this.server.down) {
      this.server.time.after(1_000, () => this.caller.enter(() => this.connect()));
      return;
    }
    const isConfirmed = beginConfirmation(this.caller.clock);
    this.session = {
      ...{ pid: this.server.newPid(), alive: true, onServer: true, isElsewhere: false, isConfirmed },
      hanging: [],
    };
    this.beat(this.session);
  }

  private beat(session: Session): void {
    if (!session.alive || this.session !== session) return;
    const confirmation = beginConfirmation(this.caller.clock);
    const { time } = this.server;
    if (session.onServer || session.isElsewhere)
      time.after(1, () => this.caller.enter(() => (session.isConfirmed = confirmation)));
    time.after(HEARTBEAT_MS, () => this.caller.enter(() => this.beat(session)));
  }
}
