import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { Logger } from '#runtime';
import type { ImportKind } from './import-runs.js';
import { LoadClassifier } from './load-classifier.js';

export interface ClassifierSources {
  changesUrl: string | undefined;
  inactiveUrl: string | undefined;
  everyMs: number;
}

/** How long after the start the source is first read: a program that restarts over and over must not load the source. */
const FIRST_AFTER_MS = 60_000;

/**
 * Fetches what has changed in the register. Any number of gateways may do it: one load at a time is claimed in the database,
 * and one that comes too early finds nothing new.
 */
@Injectable()
export class ClassifierJob implements OnApplicationBootstrap, OnModuleDestroy {
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(
    private readonly load: LoadClassifier,
    private readonly sources: ClassifierSources,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    const { changesUrl, inactiveUrl, everyMs } = this.sources;
    if (changesUrl === undefined && inactiveUrl === undefined) return;
    this.schedule(Math.min(FIRST_AFTER_MS, everyMs));
  }

  /** A load in hand is left as it is: it is claimed in the database, and the next process goes on with it. */
  onModuleDestroy(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  async fetchChanges(): Promise<void> {
    const { changesUrl, inactiveUrl } = this.sources;
    if (changesUrl !== undefined) await this.fetch('changes', changesUrl);
    if (inactiveUrl !== undefined) await this.fetch('inactive', inactiveUrl);
  }

  private schedule(afterMs: number): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      void this.fetchChanges().finally(() => this.schedule(this.sources.everyMs));
    }, afterMs);
    this.timer.unref();
  }

  private async fetch(kind: ImportKind, url: string): Promise<void> {
    try {
      const outcome = await this.load.execute(kind, url, { unattended: true });
      if (outcome.kind === 'held') {
        this.logger.warn(
          { import: kind },
          'an earlier version of the classification register was put in force: nothing is fetched until `classifier resume`',
        );
        return;
      }
      const level = outcome.kind === 'failed' ? 'error' : 'info';
      this.logger[level]({ import: kind, outcome }, 'classification register fetched');
    } catch (error) {
      this.logger.error({ err: error, import: kind }, 'the classification register could not be fetched');
    }
  }
}
