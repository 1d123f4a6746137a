import { Injectable } from '@nestjs/common';
import { Prisma } from '#database';
import { markSent, OFD_BATCH } from '#ledger';
import { Problem } from '#problems';
import { AuditedChange } from '../audit/audited-change.js';
import type { Caller } from '../audit/caller.js';

/** A module holds some thousand unsent documents at the most; the device's row is held meanwhile, for which polls wait. */
const MAX_BATCHES = 4;
/** Of a device that has another module, or an older state of its own: it is asked for nothing. */
const UNWATCHED: ReadonlySet<string> = new Set(['replaced', 'claimed_elsewhere']);

interface Locked {
  terminal_id: string | null;
  state: string;
  is_deleted: boolean;
  now: Date;
}

export interface Delivery {
  terminalId: string;
  /** The last document that the tax office has; null where it has all. */
  upToSeq: number | null;
  reason: string;
}

/**
 * POST /v1/operator/devices/{id}/delivered: the documents of a module that is gone have reached the OFD another way (a service centre that
 * read its memory out). Its register can no longer say so, and until someone does the alarm of their deadline goes on, and the archive keeps
 * their receipts back. A module that the device has answers for itself, unless it was put back from a copy: then it knows nothing of its last ones.
 */
@Injectable()
export class NoteDelivered {
  constructor(private readonly changes: AuditedChange) {}

  /** @returns how many receipts count as sent from now on; repeated it is 0 @throws Problem 404; 409 terminal_still_watched */
  execute(caller: Caller, deviceId: string, { terminalId, upToSeq, reason }: Delivery): Promise<number> {
    return this.changes.execute(caller, async (tx) => {
      const [device] = await tx.$queryRaw<Locked[]>`
        SELECT terminal_id, state::text, deleted_at IS NOT NULL AS is_deleted, clock_timestamp() AS now FROM devices
         WHERE id = ${deviceId} AND merchant_id = ${caller.merchantId} FOR UPDATE`;
      if (!device) throw new Problem('not_found', 'There is no device with this id.');
      if (device.terminal_id === terminalId && !device.is_deleted && !UNWATCHED.has(device.state)) {
        const detail = `The device has ${terminalId}: what it has delivered is read from it.`;
        throw new Problem('terminal_still_watched', detail);
      }
      const sent = {
        deviceId,
        terminalId,
        before: device.now,
        upToSeq: upToSeq ?? Number.MAX_SAFE_INTEGER,
        except: [],
      };
      let marked = 0;
      for (let batch = 1; batch <= MAX_BATCHES; batch += 1) {
        const found = await markSent(tx, sent, Prisma.sql`now()`);
        marked += found;
        if (found < OFD_BATCH) break;
      }
      if (marked === 0) return { result: 0, action: null };
      const after = { terminal_id: terminalId, up_to_seq: upToSeq, receipts: marked, reason };
      return { result: marked, action: 'device.delivered', targetId: deviceId, before: null, after };
    });
  }
}
