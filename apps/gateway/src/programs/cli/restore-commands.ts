import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Injectable } from '@nestjs/common';
import { RESTORED } from '#database';
import { Problem } from '#problems';
import { Merchants } from '../../fleet/merchants/merchants.js';
import { AdoptDevice } from '../../operator/adopt-device.js';
import { readDecision } from '../../operator/decision.js';
import { ResolveBody } from '../../operator/operator-bodies.js';
import { ResolveAttempt } from '../../operator/resolve-attempt.js';
import { HeldReceipts, type HeldReceipt } from '../../operator/restore/held-receipts.js';
import { HoldLanes, type Program } from '../../operator/restore/hold-lanes.js';
import { NothingLost } from '../../operator/restore/nothing-lost.js';
import { checked } from './checked.js';
import { evidenceOf, readDecisions } from './decision-file.js';
import type { Given, ReadCommand } from './read-arguments.js';
import { UsageError } from './usage-error.js';

const REASON_LENGTH = { min: 5, max: 500 };

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

/** After a copy of the database was put back (docs/backup.md): for all merchants, so only at the machine itself. */
@Injectable()
export class RestoreCommands {
  constructor(
    private readonly merchants: Merchants,
    private readonly lanes: HoldLanes,
    private readonly held: HeldReceipts,
    private readonly adoptDevice: AdoptDevice,
    private readonly resolveAttempt: ResolveAttempt,
    private readonly nothingLost: NothingLost,
  ) {}

  /** @returns what is printed @throws UsageError */
  async run({ verb, values }: ReadCommand, program: Program): Promise<unknown> {
    switch (verb) {
      case 'begin':
        return { ...(await this.lanes.begin(program, reasonOf(values))), ...(await this.lanes.status()) };
      case 'status':
        return this.lanes.status();
      case 'list':
        return this.list(values);
      case 'resolve':
        return this.resolve(values, program);
      case 'adopt':
        return this.adopt(values, program);
      case 'nothing-lost': {
        const grounds = { reason: reasonOf(values), evidence: await evidenceOf(values['evidence']) };
        return { data: await this.nothingLost.execute(program, grounds) };
      }
      default:
        return { released: await this.lanes.end(program, reasonOf(values)), ...(await this.lanes.status()) };
    }
  }

  private async list(given: Given): Promise<unknown> {
    const merchantId = await this.merchantOf(given);
    const receipts = this.held.list(merchantId);
    if (given['file'] === undefined) {
      const data: HeldReceipt[] = [];
      for await (const receipt of receipts) data.push(receipt);
      return { data };
    }
    let count = 0;
    const lines = async function* (): AsyncGenerator<string, void, undefined> {
      for await (const receipt of receipts) {
        count += 1;
        yield `${JSON.stringify(receipt)}\n`;
      }
    };
    await pipeline(Readable.from(lines()), createWriteStream(given['file']));
    return { file: given['file'], receipts: count };
  }

  /** Each decision is a transaction of its own: one that is refused stops no other. */
  private async resolve(given: Given, program: Program): Promise<BulkAnswer> {
    const { file } = given;
    if (file === undefined) throw new UsageError('--file is missing: the decisions');
    const [reason, evidence] = [reasonOf(given), await evidenceOf(given['evidence'])];
    return inBulk(readDecisions(file), async ({ id: attemptId, fields }) => {
      const merchantId = await this.held.merchantOfAttempt(attemptId);
      if (merchantId === null) throw new Problem('not_found', 'There is no attempt with this id.');
      const decision = readDecision(checked(ResolveBody, { ...fields, reason }));
      if (decision.kind === 'duplicate')
        throw Problem.fromErrors([
          { pointer: '/decision', code: 'invalid_value', detail: 'A duplicate is decided on its own: by the API.' },
        ]);
      await this.resolveAttempt.execute({ caller: { ...program, merchantId }, attemptId, decision, evidence });
    });
  }

  private async adopt(given: Given, program: Program): Promise<BulkAnswer> {
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
    const stopped = await this.held.stoppedDevices(await this.merchantOf(given), RESTORED);
    return stopped.map(({ id }) => ({ id }));
  }

  private async merchantOf({ merchant }: Given): Promise<string | null> {
    if (merchant === undefined) return null;
    const found = await this.merchants.find(merchant);
    if (!found) throw new UsageError(`There is no merchant ${JSON.stringify(merchant)}.`);
    return found.id;
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

function reasonOf({ reason = '' }: Given): string {
  const { min, max } = REASON_LENGTH;
  const text = reason.trim();
  if (text.length < min || text.length > max) throw new UsageError(`--reason must have ${min} to ${max} characters`);
  return text;
}
