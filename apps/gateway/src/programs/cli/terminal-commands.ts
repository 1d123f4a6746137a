import { Injectable } from '@nestjs/common';
import type { Caller } from '../../audit/caller.js';
import type { MerchantView } from '../../fleet/merchants/merchants.js';
import { GiveTerminal, type TerminalView } from '../../fleet/terminals/give-terminal.js';
import type { Given } from './read-arguments.js';
import { UsageError } from './usage-error.js';

const MAX_REASON = 500;

/** `terminal …`: for which merchant a fiscal module works, where two say that it is theirs. */
@Injectable()
export class TerminalCommands {
  constructor(private readonly terminals: GiveTerminal) {}

  show(terminalId: string): Promise<TerminalView> {
    return this.terminals.show(terminalId);
  }

  /** @throws UsageError without a reason, or for a terminal that is none */
  async give(
    terminalId: string,
    merchant: MerchantView,
    { given, program }: { given: Given; program: Omit<Caller, 'merchantId'> },
  ): Promise<TerminalView> {
    const reason = given['reason']?.trim() ?? '';
    if (reason === '' || reason.length > MAX_REASON)
      throw new UsageError('--reason is missing: it stands on both trails');
    if (!/^[A-Za-z0-9]{4,32}$/.test(terminalId)) throw new UsageError(`${JSON.stringify(terminalId)} is no terminal`);
    await this.terminals.execute({ ...program, merchantId: merchant.id }, terminalId, reason);
    return this.terminals.show(terminalId);
  }
}
