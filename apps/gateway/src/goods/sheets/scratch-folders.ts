import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Logger } from '#runtime';
import type { GatewaySettings } from '../../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../../tokens.js';

const PREFIX = 'fiscal-gateway-';
/** Longer than anything is worked on; several gateways may share the folder. */
const LEFT_AFTER_MS = 24 * 3_600_000;

/** Folders for files that are too large for memory, on the disk that SCRATCH_DIR names. */
@Injectable()
export class ScratchFolders implements OnApplicationBootstrap {
  private readonly parent: string;

  constructor(
    @Inject(SETTINGS_TOKEN) { SCRATCH_DIR }: Partial<Pick<GatewaySettings, 'SCRATCH_DIR'>>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.parent = SCRATCH_DIR ?? tmpdir();
  }

  /** Clears what gateways that were killed have left. */
  async onApplicationBootstrap(): Promise<void> {
    try {
      const names = await readdir(this.parent);
      for (const name of names.filter((one) => one.startsWith(PREFIX))) await this.clearOld(join(this.parent, name));
    } catch (error) {
      this.logger.warn({ err: error, folder: this.parent }, 'the folder for large files cannot be read');
    }
  }

  /** A new folder; its owner removes it. */
  make(): Promise<string> {
    return mkdtemp(join(this.parent, PREFIX));
  }

  remove(folder: string): Promise<void> {
    return rm(folder, { recursive: true, force: true });
  }

  private async clearOld(folder: string): Promise<void> {
    const { mtimeMs } = await stat(folder);
    if (Date.now() - mtimeMs > LEFT_AFTER_MS) await rm(folder, { recursive: true, force: true });
  }
}

/** Whether something failed because the disk is full. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOSPC';
}
