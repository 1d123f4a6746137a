import type { RegisterAnswer } from '#fiscal-domain';
import type { CallResult } from '#local-api';
import type { PreparedReceipt } from '../../../apps/device-relay/src/devices/register.js';
import type { ComparedRegister } from '../../../apps/device-relay/src/restore/compare-registers.js';
import type { Chance } from '../../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import type { RegisterModel } from '../../../apps/device-relay/src/lanes/simulation/testing/register-model.js';

/** What happens to one request for a receipt. The last three end the relay's life with it. */
export type Fate =
  | 'well'
  | 'lost request'
  | 'lost answer'
  | 'late request'
  | 'killed before'
  | 'killed after'
  | 'killed beside a late request';

const FATES: readonly (readonly [Fate, number])[] = [
  ['lost request', 0.03],
  ['lost answer', 0.03],
  ['late request', 0.05],
  ['killed before', 0.02],
  ['killed after', 0.03],
  ['killed beside a late request', 0.02],
];

interface Line {
  chance: Chance;
  /** Nothing goes wrong any more. */
  isHealed: () => boolean;
  /** Whatever is sent comes there later. */
  isLate: () => boolean;
  note: (line: string) => void;
  /** The relay that called is gone from this moment on: it gets no answer. */
  kill: () => Promise<never>;
}

/** The network between one relay and one register: answers come at once, but for those that never do. */
export class ShopLine implements ComparedRegister {
  constructor(
    private readonly register: RegisterModel,
    private readonly line: Line,
  ) {}

  status = (): ReturnType<ComparedRegister['status']> => this.call(() => ok(this.register.status()));
  fmInfo = (): ReturnType<ComparedRegister['fmInfo']> => this.call(() => ok(this.register.fmInfo()));
  findBySeq = (seq: number): ReturnType<ComparedRegister['findBySeq']> =>
    this.call(() => found(this.register.findBySeq(seq)));
  findByKey = (key: string): ReturnType<ComparedRegister['findByKey']> =>
    this.call(() => (this.register.kind.keyed ? found(this.register.findByKey(key)) : UNASKED));

  openShift = (): ReturnType<ComparedRegister['openShift']> =>
    this.call(() => {
      if (this.register.shiftOpen) return { kind: 'refused', httpStatus: 400, code: 'F-005', message: 'already open' };
      this.register.shiftOpen = true;
      return ok({ success: true });
    });

  // Neither a lane nor a comparison asks for these.
  business = unasked;
  branch = unasked;
  closeShift = unasked;
  currentZReport = unasked;
  zReportStats = unasked;
  sendUnsentReceipts = unasked;
  sendUnsentZReports = unasked;

  prepareReceipt(body: Buffer, key: string): Promise<PreparedReceipt> {
    const { register, line } = this;
    // The kernel of a phone that sleeps takes a connection, or it is not taken.
    if (register.asleep && line.chance.happens(0.5))
      return Promise.resolve({ kind: 'not_sent', reason: 'connect timeout' });
    const { modules } = register;
    const send = (mayStillSend: () => boolean): Promise<RegisterAnswer> => {
      if (!mayStillSend()) return Promise.resolve({ kind: 'not_sent', reason: 'guard' });
      if (register.modules !== modules) return Promise.resolve({ kind: 'unclear', reason: 'reset' });
      return this.send(body, key);
    };
    return Promise.resolve({ kind: 'ready', call: { send, abandon: () => undefined } });
  }

  private send(body: Buffer, key: string): Promise<RegisterAnswer> {
    const { register, line } = this;
    const work = (): RegisterAnswer => register.process(body, { key, attemptId: '' });
    const later = (): void => register.whenAwakeFor(line.chance.between(0, register.kind.worstWorkMs), work);
    const fate = this.drawFate();
    if (fate !== 'well') line.note(`${register.deviceId} ${key}: ${fate}`);
    if (register.asleep || fate === 'late request' || fate === 'killed beside a late request') {
      if (fate !== 'lost request' && fate !== 'killed before') later();
      return fate.startsWith('killed') ? line.kill() : Promise.resolve(LOST);
    }
    if (fate === 'lost request') return Promise.resolve(LOST);
    if (fate === 'killed before') return line.kill();
    const answer = work();
    if (fate === 'killed after') return line.kill();
    return Promise.resolve(fate === 'lost answer' ? LOST : answer);
  }

  private drawFate(): Fate {
    if (this.line.isHealed()) return 'well';
    if (this.line.isLate()) return this.line.chance.happens(0.5) ? 'late request' : 'killed beside a late request';
    let left = this.line.chance.next();
    for (const [fate, probability] of FATES) {
      left -= probability;
      if (left < 0) return fate;
    }
    return 'well';
  }

  private call<T>(answer: () => CallResult<T>): Promise<CallResult<T>> {
    if (this.register.asleep) return Promise.resolve({ kind: 'unclear', reason: 'timeout' });
    return Promise.resolve(answer());
  }
}

const LOST = { kind: 'unclear', reason: 'timeout' } as const;
const UNASKED = { kind: 'refused', httpStatus: 404, code: 'S-002', message: 'not simulated here' } as const;

function unasked(): Promise<typeof UNASKED> {
  return Promise.resolve(UNASKED);
}

function ok<T>(value: T): CallResult<T> {
  return { kind: 'ok', value, headers: {} };
}

function found<T>(value: T | null): CallResult<T> {
  return value === null ? UNASKED : ok(value);
}
