import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { moveTerminal, type MovedTerminal, type TerminalMove } from './move-terminal.js';
import { gainRecord, lossRecords } from './terminal-records.js';

export interface TerminalView {
  terminal_id: string;
  /** Null: no merchant holds it. */
  merchant: string | null;
  merchant_id: string | null;
  proof: string | null;
  held_since: string | null;
  /** When a register of another merchant said last that it is this terminal. */
  contested_at: string | null;
  devices: { id: string; merchant: string; name: string; state: string; deleted: boolean }[];
}

/** What the platform's operator decides on the machine: for which merchant a fiscal module works. */
@Injectable()
export class GiveTerminal {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
  ) {}

  async show(terminalId: string): Promise<TerminalView> {
    const [held] = await this.prisma.$queryRaw<
      { code: string; merchant_id: string; proof: string; held_since: Date; contested_at: Date | null }[]
    >`SELECT m.code, t.merchant_id, t.proof::text, t.held_since, t.contested_at
        FROM terminals t JOIN merchants m ON m.id = t.merchant_id WHERE t.terminal_id = ${terminalId}`;
    const devices = await this.prisma.$queryRaw<TerminalView['devices']>`
      SELECT d.id, m.code AS merchant, d.name, d.state::text AS state, d.deleted_at IS NOT NULL AS deleted
        FROM devices d JOIN merchants m ON m.id = d.merchant_id
       WHERE d.terminal_id = ${terminalId} ORDER BY d.deleted_at IS NOT NULL, d.id LIMIT 100`;
    return {
      ...{ terminal_id: terminalId, merchant: held?.code ?? null, merchant_id: held?.merchant_id ?? null },
      ...{ proof: held?.proof ?? null, held_since: held?.held_since.toISOString() ?? null },
      ...{ contested_at: held?.contested_at?.toISOString() ?? null, devices },
    };
  }

  /** Its lane goes on within seconds: the relays' sweeper finds it. */
  async execute(caller: Caller, terminalId: string, reason: string): Promise<MovedTerminal> {
    const move: TerminalMove = { terminalId, toMerchantId: caller.merchantId, proof: 'operator' };
    return this.changes.execute(caller, async (tx) => {
      const moved = await moveTerminal(tx, move);
      const others = lossRecords(move, moved, { actor: caller.actor, reason });
      return { result: moved, ...gainRecord(move, moved, reason), others };
    });
  }
}
