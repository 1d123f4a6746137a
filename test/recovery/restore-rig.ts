import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createLogger, NestLogger } from '#runtime';
import { holdAfterRestore } from '../../apps/device-relay/src/copies/hold-after-restore.js';
import { LaneRows } from '../../apps/device-relay/src/lanes/testing/lane-rows.js';
import { Cli } from '../../apps/gateway/src/programs/cli/cli.js';
import { CliModule } from '../../apps/gateway/src/programs/cli/cli.module.js';
import { testGatewaySettings } from '../../apps/gateway/src/testing/gateway-settings.js';

const logger = createLogger('test', 'silent');
export const REASON = ['--reason', 'put back the copy of 3 a.m.'];

/** The command line on a database with lanes, of which a relay may find that it was put back. */
export class RestoreRig {
  /** Arguments that name a file. */
  readonly evidence: string[];

  private constructor(
    readonly rows: LaneRows,
    readonly app: INestApplicationContext,
    readonly folder: string,
  ) {
    writeFileSync(join(folder, 'ofd.csv'), 'terminal;seq\n');
    this.evidence = ['--evidence', join(folder, 'ofd.csv')];
  }

  static async start(): Promise<RestoreRig> {
    const rows = await LaneRows.start();
    const module = CliModule.create(testGatewaySettings(rows.database), logger);
    const app = await NestFactory.createApplicationContext(module, { logger: new NestLogger(logger) });
    return new RestoreRig(rows, app, mkdtempSync(join(tmpdir(), 'fiscal-restore-')));
  }

  async stop(): Promise<void> {
    await this.app.close();
    await this.rows.stop();
    rmSync(this.folder, { recursive: true });
  }

  async clear(): Promise<void> {
    await this.rows.clear();
    await this.rows.sql.query('DELETE FROM restore_checks; DELETE FROM database_identity');
  }

  run = (...args: string[]): Promise<Record<string, unknown>> =>
    this.app.get(Cli).run(args) as Promise<Record<string, unknown>>;

  /** A register without keys, which has sold. */
  keyless = async (id: string, profile = {}): Promise<void> => {
    if (id !== 'dev_1') await this.rows.createDevice(id);
    await this.rows.sql.query('UPDATE devices SET terminal_id = $2, profile = $3 WHERE id = $1', [
      ...[id, `UZ0000000000000${id.slice(-1)}`],
      JSON.stringify({ sharing: 'exclusive', ...profile }),
    ]);
  };

  /** As a relay does it that meets this database for the first time. */
  putBack = async (): Promise<void> => {
    await this.rows.sql.query(`INSERT INTO database_identity (identity) VALUES ('the one before')`);
    await holdAfterRestore(this.rows.sql, logger);
  };

  attemptOf = async (receiptId: string): Promise<string> =>
    (await this.rows.one<{ id: string }>('SELECT id FROM attempts WHERE receipt_id = $1', receiptId)).id;
  statusOf = async (id: string): Promise<unknown> => (await this.rows.receipt(id))['status'];
  stateOf = async (id: string): Promise<unknown> =>
    (await this.rows.one<{ state: string }>('SELECT state::text FROM devices WHERE id = $1', id)).state;
}
