import type { AuditOfOther } from '../../audit/audited-change.js';
import type { MovedTerminal, TerminalMove } from './move-terminal.js';

type Record = Omit<AuditOfOther, 'merchantId' | 'actor'>;

/** For the trail of the merchant that has the terminal now. The other merchant is not named to it. */
export function gainRecord(move: TerminalMove, { from, awake }: MovedTerminal, reason: string | null): Record {
  return {
    action: 'terminal.claim',
    targetId: awake[0] ?? move.terminalId,
    before: { terminal_id: move.terminalId, held: from === null ? 'by this merchant or none' : 'by another merchant' },
    after: { terminal_id: move.terminalId, proof: move.proof, devices: awake, ...(reason !== null && { reason }) },
  };
}

/** For the trail of the merchant that had it; none where no other one had. */
export function lossRecords(
  { terminalId, proof }: TerminalMove,
  { from }: MovedTerminal,
  { actor, reason }: { actor: string; reason: string | null },
): AuditOfOther[] {
  if (from === null) return [];
  const { merchantId, heldSince, proof: heldBy } = from;
  return [
    {
      ...{ merchantId, actor, action: 'terminal.lose', targetId: terminalId },
      before: { terminal_id: terminalId, held_since: heldSince.toISOString(), proof: heldBy },
      after: { held: 'by another merchant', proof, ...(reason !== null && { reason }) },
    },
  ];
}
