/** Attempts of one caller that are under way in this process. */
interface Turn {
  running: number;
  /** How often one of them has given back what it had taken. */
  freed: number;
  waiting: (() => void)[];
}

/** How long an attempt waits for others of its caller. */
const PATIENCE_MS = 2_000;

/**
 * Attempts of one caller that come at the same moment. One that was kept from being checked is tried again when another one has given
 * something back, and is refused when none is under way that could.
 */
export class LoginTurns {
  private readonly turns = new Map<string, Turn>();

  constructor(private readonly patienceMs = PATIENCE_MS) {}

  /**
   * @param attempt says `wait` when it was not checked, and calls back when it has given back what it had taken
   */
  async run<T extends { kind: string }>(key: string, attempt: (hasFreed: () => void) => Promise<T>): Promise<T> {
    const until = performance.now() + this.patienceMs;
    const turn = this.turns.get(key) ?? { running: 0, freed: 0, waiting: [] };
    this.turns.set(key, turn);
    for (;;) {
      const before = turn.freed;
      let own = 0;
      const result = await this.once(key, turn, () =>
        attempt(() => {
          own += 1;
          turn.freed += 1;
          turn.waiting.shift()?.();
        }),
      );
      if (result.kind !== 'wait') return result;
      if (turn.freed - own === before && turn.running > 0) await changeOf(turn, until - performance.now());
      if (turn.freed - own === before || performance.now() >= until) return result;
    }
  }

  private async once<T>(key: string, turn: Turn, attempt: () => Promise<T>): Promise<T> {
    turn.running += 1;
    this.turns.set(key, turn);
    try {
      return await attempt();
    } finally {
      turn.running -= 1;
      if (turn.running === 0) {
        for (const wake of turn.waiting.splice(0)) wake();
        if (this.turns.get(key) === turn) this.turns.delete(key);
      }
    }
  }
}

/** Until another attempt has given something back, or none is under way any more. */
function changeOf(turn: Turn, patienceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timer);
      const at = turn.waiting.indexOf(wake);
      if (at >= 0) turn.waiting.splice(at, 1);
      resolve();
    };
    const timer = setTimeout(wake, Math.max(0, patienceMs));
    turn.waiting.push(wake);
  });
}
