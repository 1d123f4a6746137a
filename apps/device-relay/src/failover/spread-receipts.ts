import type { FiscalField } from '#fiscal-domain';

/** A register that may take over receipts, with what stands in its lane already. */
export interface Target {
  deviceId: string;
  /** The branch of the register that is away; its own group comes after it. */
  isSameBranch: boolean;
  waiting: number;
  /** What it takes into the fiscal document beyond the specification. */
  takes: readonly FiscalField[];
}

export interface MovableReceipt {
  id: string;
  /** What must not be lost on the way. */
  needs: readonly FiscalField[];
}

export interface Move {
  receiptId: string;
  deviceId: string;
}

/**
 * Gives each receipt, in order, to the register with the least work, counting what it has just been given: a backlog is
 * spread over all of them instead of falling onto one. Registers of the same branch are preferred to those of the group. A receipt
 * for which there is none stays.
 */
export function spreadReceipts(receipts: readonly MovableReceipt[], targets: readonly Target[]): Move[] {
  const counted = targets.map((target) => ({ ...target }));
  const moves: Move[] = [];
  for (const { id: receiptId, needs } of receipts) {
    const fit = counted.filter(({ takes }) => needs.every((field) => takes.includes(field)));
    const near = fit.filter(({ isSameBranch }) => isSameBranch);
    let least: (typeof counted)[number] | undefined;
    for (const target of near.length > 0 ? near : fit) if (!least || target.waiting < least.waiting) least = target;
    if (!least) continue;
    least.waiting += 1;
    moves.push({ receiptId, deviceId: least.deviceId });
  }
  return moves;
}
