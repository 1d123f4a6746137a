import { Inject, Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import type { GatewaySettings } from '../../../settings.js';
import { SETTINGS_TOKEN } from '../../../tokens.js';
import { checkArchive } from './check-archive.js';
import { checkDatabase } from './check-database.js';
import { checkPartitions } from './check-partitions.js';
import { checkPooler } from './check-pooler.js';
import { checkSurroundings } from './check-surroundings.js';
import { checkTables } from './check-tables.js';
import { checkWork } from './check-work.js';
import { findingsOf, type Finding, type FindingState } from './finding.js';

export interface Diagnosis {
  state: FindingState;
  findings: Finding[];
}

/** Examines an installation from its own machine, and says what to do. It changes nothing. */
@Injectable()
export class OperatorDoctor {
  constructor(
    private readonly database: PrismaService,
    @Inject(SETTINGS_TOKEN) private readonly settings: GatewaySettings,
  ) {}

  /** What is wrong comes first. */
  async run(): Promise<Diagnosis> {
    const { database, settings } = this;
    const findings = await Promise.all([
      findingsOf('database', () => checkDatabase(database)),
      findingsOf('tables', () => checkTables(database)),
      findingsOf('work', () => checkWork(database, settings.SECRETS_KEY)),
      findingsOf('archive', () => checkArchive(database, settings)),
      findingsOf('partitions', () => checkPartitions(database)),
      findingsOf('pooler', () => checkPooler(settings)),
      findingsOf('surroundings', () => checkSurroundings(settings)),
    ]);
    const order: readonly FindingState[] = ['bad', 'warn', 'ok'];
    const sorted = findings.flat().sort((one, other) => order.indexOf(one.state) - order.indexOf(other.state));
    return { state: sorted[0]?.state ?? 'ok', findings: sorted };
  }
}
