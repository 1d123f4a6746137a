export const SIM_FAULTS = [
  'delay',
  'drop_before',
  'drop_after',
  'error_before',
  'error_after',
  'malformed',
  'decline',
  'duplicate',
  'reorder',
  'stale_webhook',
  'refuse_refund',
  // Taken as pending, counted as given back, and failed a moment later.
  'refund_fails',
  'no_fiscal_data',
  'refund_document',
  'expire_hold',
  // Done later than it was answered.
  'late',
  // The caller's clock and the provider's are minutes apart.
  'skewed_clock',
] as const;
export type SimFault = (typeof SIM_FAULTS)[number];

export interface FaultRule {
  fault: SimFault;
  /** Share of the calls, 0–1. */
  rate?: number;
  /** The next so many calls. */
  next?: number;
  delay_ms?: number;
  /** Only calls whose path holds this text: what the caller still does for earlier payments goes on unharmed. */
  path?: string;
}

/** How much later, where the rule does not say. */
export const LATE_MS = 300;

/** `drop_before`, `error_before`: nothing was done. `…_after`, `malformed`: it was done and no answer arrives. */
export class Faults {
  private rules: FaultRule[] = [];
  private late = 0;

  constructor(private readonly random: () => number = Math.random) {}

  set(rules: readonly FaultRule[]): void {
    this.rules = rules.map((rule) => ({ ...rule }));
  }

  show(): readonly FaultRule[] {
    return this.rules;
  }

  /** How many effects and answers that faults have put off are still to come. */
  get open(): number {
    return this.late;
  }

  /** What a fault puts off. */
  later(act: () => void, ms: number): void {
    const done = this.begin();
    setTimeout(() => {
      act();
      done();
    }, ms).unref();
  }

  /** At once, or later than it is answered. */
  perhapsLate(act: () => void): void {
    const rule = this.draw(['late']);
    if (rule) this.later(act, rule.delay_ms ?? LATE_MS);
    else act();
  }

  /** @returns to be called once when what was put off is done */
  begin(): () => void {
    this.late += 1;
    return () => {
      this.late -= 1;
    };
  }

  /** The first rule of these faults that strikes this call; a rule for a path strikes no call without one. */
  draw(among: readonly SimFault[], path = ''): FaultRule | null {
    for (const rule of this.rules) {
      if (!among.includes(rule.fault) || !path.includes(rule.path ?? '')) continue;
      if (rule.next !== undefined) {
        if (rule.next <= 0) continue;
        rule.next -= 1;
        return rule;
      }
      if (this.random() < (rule.rate ?? 0)) return rule;
    }
    return null;
  }
}

/** @returns the rules, or what is wrong with them */
export function readFaultRules(body: unknown): FaultRule[] | string {
  const rules = (body as { rules?: unknown } | null)?.rules;
  if (!Array.isArray(rules)) return 'the body must be {rules: [{fault, rate | next, delay_ms?}]}';
  for (const rule of rules as Partial<FaultRule>[]) {
    if (!SIM_FAULTS.includes(rule.fault as SimFault)) return `fault must be one of ${SIM_FAULTS.join(', ')}`;
  }
  return rules as FaultRule[];
}
