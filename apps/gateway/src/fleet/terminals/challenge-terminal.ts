import { randomInt } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Problem } from '#problems';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { lockDeviceRow } from '../devices/device-rows.js';

/** Crockford's letters: people type them, and no page writes them otherwise. */
const LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const WORD_LENGTH = 24;
const VALID_HOURS = 72;

export interface ChallengeView {
  terminal_id: string;
  /** The name of a line of a receipt that this terminal has to register. */
  word: string;
  expires_at: string;
}

/**
 * POST /v1/devices/{id}/terminal-challenge: a word that is drawn for this merchant. A receipt with it, registered on the module
 * itself, is found by its link at the tax office, and nowhere else: what the register says of itself proves nothing.
 */
@Injectable()
export class ChallengeTerminal {
  constructor(private readonly changes: AuditedChange) {}

  /** A new word takes the place of the one before. @throws Problem 404; 409 terminal_not_claimed_elsewhere */
  async execute(caller: Caller, deviceId: string): Promise<ChallengeView> {
    const word = newWord();
    return this.changes.execute(caller, async (tx) => {
      const { state, terminal_id: terminalId } = await lockDeviceRow(tx, caller.merchantId, deviceId);
      if (state !== 'claimed_elsewhere' || terminalId === null) throw notClaimedElsewhere(state);
      const [row] = await tx.$queryRaw<{ expires_at: Date }[]>`
        INSERT INTO terminal_challenges (device_id, terminal_id, word, expires_at)
        VALUES (${deviceId}, ${terminalId}, ${word}, now() + make_interval(hours => ${VALID_HOURS}::int4))
        ON CONFLICT (device_id) DO UPDATE
          SET terminal_id = excluded.terminal_id, word = excluded.word, expires_at = excluded.expires_at, tries = 0,
              created_at = now()
        RETURNING expires_at`;
      if (!row) throw new Error('the challenge was not written');
      const expiresAt = row.expires_at.toISOString();
      const after = { terminal_id: terminalId, expires_at: expiresAt };
      return {
        result: { terminal_id: terminalId, word, expires_at: expiresAt },
        ...{ action: 'terminal.challenge', targetId: deviceId, before: null, after },
      };
    });
  }
}

export function notClaimedElsewhere(state: string): Problem {
  const detail = `The device is ${state}; only the terminal of one that is claimed_elsewhere has to be proven.`;
  return new Problem('terminal_not_claimed_elsewhere', detail);
}

function newWord(): string {
  return `PROOF${Array.from({ length: WORD_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('')}`;
}
