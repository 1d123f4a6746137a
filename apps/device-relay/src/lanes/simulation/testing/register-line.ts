import type { RegisterAnswer } from '#fiscal-domain';
import type { CallAnswer, LaneDevice, PreparedReceipt, Register } from '../../../devices/register.js';
import type { Chance } from './chance.js';
import type { SimulatedProcess } from './process.js';
import type { RegisterModel } from './register-model.js';
import type { VirtualTime } from './virtual-time.js';

/** Probabilities per request of a receipt. */
export interface RegisterFaults {
  lostRequest: number;
  lostAnswer: number;
  /** It sleeps on its way, or inside, before it is worked on. */
  lateRequest: number;
  /** It is worked on at once and answered after every caller has gone. */
  lateAnswer: number;
  /** An answer that says nothing, before or after registering. */
  oddAnswer: number;
  /** Nothing is sent: connection refused. */
  refusedConnection: number;
}

/** What happens to one receipt on its way, where a test says so. */
export interface Scripted {
  fate: Fate;
  workMs?: number;
}

interface Line {
  time: VirtualTime;
  chance: Chance;
  faults: RegisterFaults;
  /** The attempt that is open for this receipt in the ledger, for the judge. */
  openAttemptOf: (deviceId: string) => string;
  count: (fault: string) => void;
  /** Taken before chance; the sender receives nothing before its deadline. */
  script?: Scripted[];
}

/** The network between one relay and one register. */
export class SimulatedLine implements Register {
  constructor(
    private readonly caller: SimulatedProcess,
    private readonly register: RegisterModel,
    private readonly device: LaneDevice,
    private readonly line: Line,
  ) {}

  status(): ReturnType<Register['status']> {
    return this.call(() => ({ kind: 'ok', value: this.register.status() }));
  }

  fmInfo(): ReturnType<Register['fmInfo']> {
    return this.call(() => {
      const { refusesWith, isMuteWhenRefusing } = this.register;
      if (refusesWith && isMuteWhenRefusing) return { kind: 'refused', code: refusesWith, message: 'simulated' };
      return { kind: 'ok', value: this.register.fmInfo() };
    });
  }

  openShift(): ReturnType<Register['openShift']> {
    return this.call(() => {
      const { register } = this;
      if (register.refusesWith) return { kind: 'refused', code: register.refusesWith, message: 'simulated' };
      if (register.refusesToOpenShift) return { kind: 'refused', code: 'F-003', message: 'cannot open' };
      if (register.shiftOpen) return { kind: 'refused', code: 'F-005', message: 'already open' };
      register.shiftOpen = true;
      return { kind: 'ok', value: { success: true } };
    });
  }

  // The lane itself never asks for these; the watch around it has a model of its own (../../../testing/shop-register.ts).
  business(): ReturnType<Register['business']> {
    return Promise.resolve(UNASKED);
  }

  branch(): ReturnType<Register['branch']> {
    return Promise.resolve(UNASKED);
  }

  closeShift(): ReturnType<Register['closeShift']> {
    return Promise.resolve(UNASKED);
  }

  currentZReport(): ReturnType<Register['currentZReport']> {
    return Promise.resolve(UNASKED);
  }

  zReportStats(): ReturnType<Register['zReportStats']> {
    return Promise.resolve(UNASKED);
  }

  sendUnsentReceipts(): ReturnType<Register['sendUnsentReceipts']> {
    return Promise.resolve(UNASKED);
  }

  sendUnsentZReports(): ReturnType<Register['sendUnsentZReports']> {
    return Promise.resolve(UNASKED);
  }

  findBySeq(seq: number): ReturnType<Register['findBySeq']> {
    return this.call(() => {
      const value = this.register.findBySeq(seq);
      return value ? { kind: 'ok', value } : { kind: 'refused', code: 'S-002', message: 'simulated' };
    });
  }

  prepareReceipt(body: Buffer, key: string): Promise<PreparedReceipt> {
    const { time, chance, faults } = this.line;
    return this.caller.external<PreparedReceipt>((resolve) => {
      const { modules } = this.register;
      const send = (mayStillSend: () => boolean): Promise<RegisterAnswer> =>
        this.register.modules === modules ? this.send(body, key, mayStillSend) : this.sendInVain(mayStillSend);
      const ready: PreparedReceipt = { kind: 'ready', call: { send, abandon: () => undefined } };
      if (chance.happens(faults.refusedConnection)) {
        this.line.count('connection refused');
        time.after(chance.between(0.2, 2), () => resolve({ kind: 'not_sent', reason: 'ECONNREFUSED' }));
      } else if (this.register.asleep && chance.happens(0.5)) {
        time.after(10_000, () => resolve({ kind: 'not_sent', reason: 'connect timeout' }));
      } else {
        // A connection that was open, or one that the kernel of a sleeping phone accepted.
        time.after(this.lag(), () => resolve(ready));
      }
    });
  }

  /** On a connection to a program that is no more; the socket may know it already or not. */
  private sendInVain(mayStillSend: () => boolean): Promise<RegisterAnswer> {
    const isNoticed = this.line.chance.happens(0.5) || !mayStillSend();
    return this.caller.external<RegisterAnswer>((resolve) => {
      const answer: RegisterAnswer = isNoticed
        ? { kind: 'not_sent', reason: 'connection_lost' }
        : { kind: 'unclear', reason: 'reset' };
      this.line.time.after(this.lag(), () => resolve(answer));
    });
  }

  private send(body: Buffer, key: string, mayStillSend: () => boolean): Promise<RegisterAnswer> {
    if (!mayStillSend()) {
      this.line.count('send guard');
      return Promise.resolve({ kind: 'not_sent', reason: 'guard' });
    }
    const { time, chance } = this.line;
    const attemptId = this.line.openAttemptOf(this.device.id);
    return this.caller.external<RegisterAnswer>((resolve) => {
      let isOver = false;
      const finish = (answer: RegisterAnswer): void => {
        if (isOver) return;
        isOver = true;
        deadline.cancel();
        resolve(answer);
      };
      const deadline = time.after(this.device.profile.sendTimeoutMs, () =>
        finish({ kind: 'unclear', reason: 'timeout' }),
      );
      const scripted = this.line.script?.shift();
      const fate = scripted?.fate ?? this.drawFate();
      if (fate !== 'well') this.line.count(fate);
      // Half of the lost ones are reported at once by a reset: the request may still be at work then.
      if (fate !== 'well' && !scripted && chance.happens(0.5))
        time.after(chance.between(1, 30), () => finish({ kind: 'unclear', reason: 'reset' }));
      if (fate === 'lost request') return;
      const isSlow = fate === 'late request' || (this.register.ofdDown && chance.happens(0.3));
      const { worstWorkMs } = this.register.kind;
      const slowMs = (): number => chance.between(Math.min(1_000, worstWorkMs / 2), worstWorkMs);
      const drawnMs = this.lag() + (isSlow ? slowMs() : chance.between(2, 15));
      const workMs = scripted?.workMs ?? drawnMs;
      this.register.whenAwakeFor(workMs, () => {
        if (fate === 'odd answer' && !scripted && chance.happens(0.5)) return finish(this.oddAnswer());
        const answer = this.register.process(body, { key, attemptId });
        if (fate === 'lost answer') return;
        const backMs =
          fate === 'late answer' ? (scripted ? LATE_ANSWER_MS : chance.between(61_000, 400_000)) : this.lag();
        time.after(backMs, () => finish(fate === 'odd answer' ? this.oddAnswer() : answer));
      });
    });
  }

  private lag(): number {
    const { lagMs } = this.register.kind;
    return this.line.chance.between(lagMs / 10, lagMs);
  }

  private drawFate(): Fate {
    const { chance, faults } = this.line;
    if (this.register.losesNext) {
      this.register.losesNext = false;
      return 'lost request';
    }
    let left = chance.next();
    for (const [fate, probability] of [
      ['lost request', faults.lostRequest],
      ['lost answer', faults.lostAnswer],
      ['late request', faults.lateRequest],
      ['late answer', faults.lateAnswer],
      ['odd answer', faults.oddAnswer],
    ] as const) {
      left -= probability;
      if (left < 0) return fate;
    }
    return 'well';
  }

  private oddAnswer(): RegisterAnswer {
    return this.line.chance.pick<RegisterAnswer>([
      // Only of a register that is not ours: the counters show whether it is true.
      ...(this.register.kind.keyed ? [] : [LIE]),
      { kind: 'unclear', reason: 'unreadable', httpStatus: 200 },
      { kind: 'unclear', reason: 'contradiction', httpStatus: 500 },
      { kind: 'refused', httpStatus: 500, code: 'S-004', message: 'internal' },
      { kind: 'refused', httpStatus: 503, code: 'T-001', message: 'OFD unreachable' },
      { kind: 'refused', httpStatus: 400, code: 'X-999', message: 'not in the table' },
    ]);
  }

  private call<T>(answer: () => CallAnswer<T>): Promise<CallAnswer<T>> {
    const { time, chance } = this.line;
    return this.caller.external<CallAnswer<T>>((resolve) => {
      let isOver = false;
      const finish = (result: CallAnswer<T>): void => {
        if (isOver) return;
        isOver = true;
        deadline.cancel();
        resolve(result);
      };
      const deadline = time.after(this.device.profile.callTimeoutMs, () =>
        finish({ kind: 'unclear', reason: 'timeout' }),
      );
      if (chance.happens(0.002)) return;
      time.after(this.lag(), () =>
        this.register.whenAwakeFor(0, () => {
          if (isOver) return;
          const result = answer();
          time.after(this.lag(), () => finish(result));
        }),
      );
    });
  }
}

const UNASKED = { kind: 'refused', code: 'S-002', message: 'not simulated here' } as const;

const LIE: RegisterAnswer = { kind: 'refused', httpStatus: 400, code: 'E-010', message: 'simulated' };

/** Of a scripted one: before the sender's deadline. */
const LATE_ANSWER_MS = 50_000;

export type Fate = 'well' | 'lost request' | 'lost answer' | 'late request' | 'late answer' | 'odd answer';
