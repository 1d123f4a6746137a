/** A register that may take over receipts, with what stands in its lane already. */
export interface Target {
  deviceId: string;
  /** The branch of the register that is away; its own group comes after it. */
  isSameBranch: boolean;
  waiting: number;
}

export interface Move {
  receiptId: string;
  deviceId: string;
}

/**
 * Gives each receipt, in order, to the register with the least work, counting what it has just been given: a backlog is
 * spread over all of them instead of falling onto one. Registers of the same branch are preferred to those of the group.
 */
export function spreadReceipts(receiptIds: readonly string[], targets: readonly Target[]): Move[] {
  const near = targets.filter(({ isSameBranch }) => isSameBranch);
  const chosen = (near.length > 0 ? near : targets).map((target) => ({ ...target }));
  const moves: Move[] = [];
  for (const receiptId of receiptIds) {
    let least: (typeof chosen)[number] | undefined;
    for (const target of chosen) if (!least || target.waiting < least.waiting) least = target;
    if (!least) return moves;
    least.waiting += 1;
    moves.push({ receiptId, deviceId: least.deviceId });
  }
  return moves;
}
