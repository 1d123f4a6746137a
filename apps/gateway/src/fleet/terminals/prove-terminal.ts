import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { parseVerificationLink, type VerificationLink } from '#fiscal-domain';
import { LaneBell } from '#queue';
import { Problem, type ProblemCode } from '#problems';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { lockDeviceRow } from '../devices/device-rows.js';
import { notClaimedElsewhere } from './challenge-terminal.js';
import { moveTerminal, type TerminalMove } from './move-terminal.js';
import { OfdPage } from './ofd-page.js';
import { gainRecord, lossRecords } from './terminal-records.js';

interface OpenChallenge {
  terminal_id: string;
  word: string;
}

/** Requests to the OFD for one challenge; documents arrive there after minutes, not after seconds. */
const MAX_TRIES = 60;

/**
 * POST /v1/devices/{id}/terminal-proof: the receipt of a challenge is searched at the tax office by its link. Found with the
 * challenge's word in it: the module registered it for this merchant, and works for it from now on.
 */
@Injectable()
export class ProveTerminal {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
    private readonly pages: OfdPage,
    private readonly bell: LaneBell,
  ) {}

  /**
   * @throws Problem 404; 409 challenge_missing, terminal_not_claimed_elsewhere; 422 invalid_format, contradicts_link,
   *   terminal_not_proven; 429; 503 ofd_unavailable
   */
  async execute(caller: Caller, deviceId: string, verificationUrl: string): Promise<void> {
    const challenge = await this.openChallenge(caller.merchantId, deviceId);
    await this.findAtOfd(readLink(verificationUrl, challenge), challenge);
    const awake = await this.changes.execute(caller, async (tx) => {
      const { state, terminal_id: terminalId } = await lockDeviceRow(tx, caller.merchantId, deviceId);
      if (state !== 'claimed_elsewhere' || terminalId !== challenge.terminal_id) throw notClaimedElsewhere(state);
      const move: TerminalMove = { terminalId, toMerchantId: caller.merchantId, proof: 'challenge' };
      const moved = await moveTerminal(tx, move);
      const others = lossRecords(move, moved, { actor: 'gateway', reason: null });
      return { result: moved.awake, ...gainRecord(move, moved, null), others };
    });
    // The crash window between commit and bell is the sweeper's.
    for (const id of awake) this.bell.ring(id);
  }

  /** Counted before the OFD is asked: the gateway is no way to ask it without end. */
  private async openChallenge(merchantId: string, deviceId: string): Promise<OpenChallenge> {
    const [known] = await this.prisma.$queryRaw<(OpenChallenge & { tries: number })[]>`
      UPDATE terminal_challenges c SET tries = least(c.tries + 1, ${MAX_TRIES + 1}::int4)
        FROM devices d
       WHERE c.device_id = ${deviceId} AND c.expires_at > now() AND d.id = c.device_id AND d.merchant_id = ${merchantId}
         AND d.deleted_at IS NULL
      RETURNING c.terminal_id, c.word, c.tries`;
    if (!known) throw new Problem('challenge_missing', 'Ask for a challenge first; one is good for three days.');
    if (known.tries > MAX_TRIES) {
      throw new Problem('challenge_missing', `The OFD was asked ${MAX_TRIES} times for it; ask for a new challenge.`);
    }
    return known;
  }

  private async findAtOfd(link: VerificationLink, { word }: OpenChallenge): Promise<void> {
    const page = await this.pages.read(link);
    if (page.kind === 'away') throw new Problem('ofd_unavailable', `${page.detail}; try again later.`);
    if (page.kind === 'absent') throw notProven(`${page.detail}: it may not have the receipt yet`);
    if (!page.text.includes(word)) throw notProven('the receipt at the OFD does not show the word of the challenge');
  }
}

/** The word must come from the document: a page may repeat what its address says. */
function readLink(url: string, { terminal_id: terminalId }: OpenChallenge): VerificationLink {
  const link = parseVerificationLink(url);
  if (link === null || !/^\d{1,20}$/.test(link.fiscalSign)) {
    throw fault('invalid_format', 'verification_url must carry t, r, c and s, each once, and s is a number');
  }
  if (link.terminalId !== terminalId) {
    throw fault('contradicts_link', `the link speaks of terminal ${link.terminalId} instead of ${terminalId}`);
  }
  return link;
}

function notProven(detail: string): Problem {
  return fault('terminal_not_proven', detail);
}

function fault(code: ProblemCode, detail: string): Problem {
  return Problem.at('/verification_url', code, detail);
}
