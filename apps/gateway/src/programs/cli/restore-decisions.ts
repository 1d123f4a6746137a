import { Injectable } from '@nestjs/common';
import { RESTORED } from '#database';
import { Problem } from '#problems';
import { Merchants } from '../../fleet/merchants/merchants.js';
import { AdoptDevice } from '../../operator/adopt-device.js';
import { readDecision } from '../../operator/decision.js';
import { ResolveBody } from '../../operator/operator-bodies.js';
import { ResolveAttempt } from '../../operator/resolve-attempt.js';
import { HeldReceipts } from '../../operator/restore/held-receipts.js';
import type { Program } from '../../operator/restore/hold-lanes.js';
import { checked } from './checked.js';
import { evidenceOf, readDecisions } from './decision-file.js';
import { merchantNamed } from './merchant-named.js';
import type { Given } from './read-arguments.js';
import { reasonOf } from './restore-reason.js';
import { UsageError } from './usage-error.js';

interface Refused {
  id: string;
  line?: number;
  code: string;
  detail: string;
}

export interface BulkAnswer {
  done: number;
  refused: Refused[];
}

/** What a person has found out about many receipts and registers at once. */
@Injectable()
export class RestoreDecisions {
  constructor(
    private readonly merchants: Merchants,
    private readonly held: HeldReceipts,
    private readonly adoptDevice: AdoptDevice,
    private readonly resolveAttempt: ResolveAttempt,
  ) {}

  /** Each decision is a transaction of its own: one that is refused stops no other. */
  async resolve(given: Given, program: Program): Promise<BulkAnswer> {
    const { file } = given;
    if (file === undefined) throw new UsageError('--file is missing: the decisions');
    const [reason, evidence] = [reasonOf(given), await evidenceOf(given['evidence'])];
    return inBulk(readDecisions(file), async ({ id: attemptId, fields }) => {
      const merchantId = await this.held.merchantOfAttempt(attemptId);
      if (merchantId === null) throw new Problem('not_found', 'There is no attempt with this id.');
      const decision = readDecision(checked(ResolveBody, { ...fields, reason }));
      if (decision.kind === 'duplicate')
        throw Problem.at('/decision', 'invalid_value', 'A duplicate is decided on its own: by the API.');
      await this.resolveAttempt.execute({ caller: { ...program, merchantId }, attemptId, decision, evidence });
    });
  }

  async adopt(given: Given, program: Program): Promise<BulkAnswer> {
    const [reason, evidence] = [reasonOf(given), await evidenceOf(given['evidence'])];
    const devices = await this.devicesOf(given);
    return inBulk(devices, async ({ id: deviceId }) => {
      const merchantId = await this.held.merchantOfDevice(deviceId);
      if (merchantId === null) throw new Problem('not_found', 'There is no device with this id.');
      await this.adoptDevice.execute({ caller: { ...program, merchantId }, deviceId, reason, evidence });
    });
  }

  /** Those that are named, or all that stand still because of the restore. */
  private async devicesOf(given: Given): Promise<{ id: string }[]> {
    if (given['devices'] !== undefined) {
      if (given['merchant'] !== undefined) throw new UsageError('Give --devices or --merchant, not both.');
      return given['devices'].split(',').map((id) => ({ id: id.trim() }));
    }
    const merchant = given['merchant'] === undefined ? null : await merchantNamed(this.merchants, given['merchant']);
    const stopped = await this.held.stoppedDevices(merchant?.id ?? null, RESTORED);
    return stopped.map(({ id }) => ({ id }));
  }
}

/** Those that are refused are named with the reason; a failure of the program ends the command. */
async function inBulk<T extends { id: string; line?: number }>(
  items: AsyncIterable<T> | Iterable<T>,
  decide: (item: T) => Promise<void>,
): Promise<BulkAnswer> {
  const answer: BulkAnswer = { done: 0, refused: [] };
  for await (const item of items) {
    try {
      await decide(item);
      answer.done += 1;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { id, line } = item;
      const detail = error.errors.length > 0 ? error.errors.map((fault) => fault.detail).join('; ') : error.detail;
      answer.refused.push({ id, ...(line !== undefined && { line }), code: error.code, detail });
    }
  }
  return answer;
}
