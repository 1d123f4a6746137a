import { chmodSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startOwnServer, type OwnServer, type TestDatabase } from '../../libs/database/src/testing/index.js';
import { OWN_PREFIX } from '../../scripts/lib/test-server.mjs';
import { sql } from '../system/database.js';
import { takeBaseBackup } from './base-backup.js';
import { startStandby, type Standby } from './standby.js';

/** A server with a standby that is promoted after the primary has died, and takes over its address. */
export class ReplicatedServer {
  private standby: Standby | null = null;
  private standbys = 0;

  private constructor(
    private readonly server: OwnServer,
    private readonly folder: string,
    readonly database: TestDatabase,
    private readonly isSynchronous: boolean,
  ) {}

  /** Without a standby yet. */
  static async start({ isSynchronous }: { isSynchronous: boolean }): Promise<ReplicatedServer> {
    const server = await startOwnServer();
    const folder = mkdtempSync(join(tmpdir(), `${OWN_PREFIX}standby-`));
    chmodSync(folder, 0o711);
    const database = await server.migratedDatabase();
    // A standby may be behind by as much as a test writes at once.
    await sql(server, `ALTER SYSTEM SET wal_keep_size = '4GB'`);
    await sql(server, 'SELECT pg_reload_conf()');
    return new ReplicatedServer(server, folder, database, isSynchronous);
  }

  /** Of the server as it is, which may be one that was promoted before, and may be written to meanwhile. */
  async attachStandby(): Promise<void> {
    this.standbys += 1;
    const clusterDir = this.standbyDir;
    await takeBaseBackup(this.server, clusterDir);
    const log = join(this.folder, `log-${this.standbys}`);
    const { isSynchronous } = this;
    this.standby = await startStandby({ clusterDir, primaryUrl: this.server.adminUrl, log, isSynchronous });
  }

  /** The standby has everything that was committed before this call, and soon nothing more. Only an asynchronous one has a line. */
  async loseLine(): Promise<void> {
    await this.attached.loseLine();
  }

  killPrimary(): Promise<void> {
    return this.server.kill('SIGQUIT');
  }

  /** What only the primary had is gone for good. */
  async promote(): Promise<void> {
    await this.attached.promote();
    await this.attached.stop();
    const lost = join(this.folder, 'lost');
    renameSync(this.server.clusterDir, lost);
    renameSync(this.standbyDir, this.server.clusterDir);
    await this.server.restart();
    this.standby = null;
    rmSync(lost, { recursive: true, force: true });
  }

  async stop(): Promise<void> {
    await this.standby?.stop();
    await this.server.remove();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private get attached(): Standby {
    if (!this.standby) throw new Error('the server has no standby');
    return this.standby;
  }

  private get standbyDir(): string {
    return join(this.folder, `data-${this.standbys}`);
  }
}
