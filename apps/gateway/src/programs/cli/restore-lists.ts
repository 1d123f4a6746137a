import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Injectable } from '@nestjs/common';
import { Merchants } from '../../fleet/merchants/merchants.js';
import { readTimestamp } from '../../http/query-rules.js';
import { HeldReceipts } from '../../operator/restore/held-receipts.js';
import { RegisterGaps } from '../../operator/restore/register-gaps.js';
import { merchantNamed } from './merchant-named.js';
import type { Given } from './read-arguments.js';
import { UsageError } from './usage-error.js';

/** What a person has to compare after a copy was put back: held receipts, and what registers have beyond them. */
@Injectable()
export class RestoreLists {
  constructor(
    private readonly merchants: Merchants,
    private readonly held: HeldReceipts,
    private readonly registers: RegisterGaps,
  ) {}

  async receipts(given: Given): Promise<unknown> {
    return asLines(this.held.list(await this.merchantOf(given)), given, 'receipts');
  }

  async gaps(given: Given): Promise<unknown> {
    return asLines(this.registers.list(sinceOf(given), await this.merchantOf(given)), given, 'gaps');
  }

  /** Null: all. */
  private async merchantOf({ merchant }: Given): Promise<string | null> {
    return merchant === undefined ? null : (await merchantNamed(this.merchants, merchant)).id;
  }
}

function sinceOf({ since = '' }: Given): Date {
  const time = readTimestamp(since);
  if (time === null) throw new UsageError('--since must be a time such as 2026-01-02T03:04:05+05:00');
  return time;
}

/** Printed, or written to `--file`, one JSON object a line: there may be more than fit into memory. */
async function asLines(rows: AsyncIterable<object>, { file }: Given, count: 'receipts' | 'gaps'): Promise<unknown> {
  if (file === undefined) {
    const data: object[] = [];
    for await (const row of rows) data.push(row);
    return { data };
  }
  let written = 0;
  const lines = async function* (): AsyncGenerator<string, void, undefined> {
    for await (const row of rows) {
      written += 1;
      yield `${JSON.stringify(row)}\n`;
    }
  };
  await pipeline(Readable.from(lines()), createWriteStream(file));
  return { file, [count]: written };
}
