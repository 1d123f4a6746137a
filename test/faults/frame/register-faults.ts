import type { Chance } from '../../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import type { Till } from '../../system/merchant.js';
import type { TestSystem } from '../../system/system.js';

/** Request lost, answer lost, answer late, request asleep on its way, 500 after registering. */
export const FIVE_FAULTS = ['drop_request', 'drop_answer', 'late_answer', 'late_request', 'error_after'] as const;

interface Rule {
  fault: string;
  next?: number;
}

/** Lets faults strike one receipt each, at registers drawn by chance: the number is exact and the seed decides where. */
export class FaultPost {
  constructor(
    private readonly system: TestSystem,
    private readonly tills: readonly Till[],
    private readonly chance: Chance,
  ) {}

  /** The nth fault of five in turn, for the next receipt of some register. */
  async post(nth: number, delayMs: number): Promise<void> {
    const { registerUrl } = this.chance.pick(this.tills);
    const rule = { fault: FIVE_FAULTS[nth % FIVE_FAULTS.length], next: 1, delay_ms: delayMs };
    await this.replace(registerUrl, [...(await this.waiting(registerUrl)), rule]);
  }

  /** Ends all faults. @returns how many had not struck */
  async clear(): Promise<number> {
    let left = 0;
    for (const { registerUrl } of this.tills) {
      left += (await this.waiting(registerUrl)).length;
      await this.replace(registerUrl, []);
    }
    return left;
  }

  private async waiting(url: string): Promise<Rule[]> {
    const { rules } = (await this.call(url, 'GET')) as { rules: Rule[] };
    return rules.filter(({ next }) => next === undefined || next > 0);
  }

  private async replace(url: string, rules: unknown[]): Promise<void> {
    await this.call(url, 'POST', { rules });
  }

  private async call(url: string, method: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${url}/emulator/faults`, {
      method,
      headers: {
        'x-api-key': this.system.registerApiKey,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} /emulator/faults: ${response.status} ${await response.text()}`);
    return response.json();
  }
}
