import { LocalApiClient } from '#local-api';
import { sql } from './database.js';
import { documentsAtOfd, setFaults } from './outside-world.js';
import type { TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

export { documentsAtOfd, setFaults };

export interface StoredReceipt {
  id: string;
  status: string;
  device_id: string;
  idempotency_key: string | null;
  terminal_id: string | null;
  receipt_seq: string | null;
  fiscal_sign: string | null;
  open_attempts: number;
}

/** All receipts in the order of their lane places. */
export function storedReceipts({ database }: Pick<TestSystem, 'database'>): Promise<StoredReceipt[]> {
  return sql<StoredReceipt>(
    database,
    `SELECT r.id, r.status, r.device_id, r.idempotency_key, r.terminal_id, r.receipt_seq, r.fiscal_sign,
            (SELECT count(*) FROM attempts a WHERE a.receipt_id = r.id AND a.state = 'open')::int AS open_attempts
       FROM receipts r ORDER BY r.lane_place`,
  );
}

/** Waits until every stored receipt is registered, and returns them. */
export function allRegistered(system: TestSystem): Promise<StoredReceipt[]> {
  return until(
    'every receipt is registered',
    () => storedReceipts(system),
    (rows) => rows.every((row) => row.status === 'registered'),
  );
}

/**
 * What the outside world holds must be exactly what the ledger says: every receipt once, under its own key in its
 * register's journal; not one document more at the register or the OFD; per device in the order of the lane places.
 */
export async function expectEachExactlyOnce(system: TestSystem, receipts: readonly StoredReceipt[]): Promise<void> {
  for (const { deviceId, registerUrl } of system.merchant.tills) {
    const mine = receipts.filter((receipt) => receipt.device_id === deviceId);
    const register = new LocalApiClient({ baseUrl: registerUrl, apiKey: system.registerApiKey, timeoutMs: 20_000 });
    try {
      const info = await register.fmInfo();
      if (info.kind !== 'ok') throw new Error(`GET /fm/info: ${JSON.stringify(info)}`);
      // One number per registration ever made: a doubled one would be one too many.
      expect({ deviceId, registrations: info.value.currentReceiptSeq }).toEqual({
        deviceId,
        registrations: mine.length,
      });
      expect(mine.map((receipt) => Number(receipt.receipt_seq))).toEqual(mine.map((_, index) => index + 1));
      for (const receipt of mine) {
        const held = await register.findByKey(receipt.id);
        const fields = held.kind === 'ok' ? held.value.receipt : held;
        expect(fields).toMatchObject({
          terminalId: receipt.terminal_id,
          receiptSeq: Number(receipt.receipt_seq),
          fiscalSign: receipt.fiscal_sign,
        });
      }
    } finally {
      register.close();
    }
  }
  const documents = await until(
    'the OFD holds all documents',
    () => documentsAtOfd(system),
    (held) => held.length >= receipts.length,
  );
  const nameOf = (terminal: string | null, seq: number | string | null): string => `${terminal}/${seq}`;
  expect(documents.map(({ terminal_id, seq }) => nameOf(terminal_id, seq)).sort()).toEqual(
    receipts.map(({ terminal_id, receipt_seq }) => nameOf(terminal_id, receipt_seq)).sort(),
  );
  expect(receipts.filter((receipt) => receipt.open_attempts > 0)).toEqual([]);
}
