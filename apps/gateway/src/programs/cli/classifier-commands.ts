import { Inject, Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import type { ImportKind } from '../../goods/classifier/import-runs.js';
import { GoBack, type BackOutcome } from '../../goods/classifier/go-back.js';
import { LoadClassifier, type LoadOutcome } from '../../goods/classifier/load-classifier.js';
import { classifierStatus } from '../../goods/classifier/versions-kept.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import type { Program } from './actor.js';
import { ProgressLine } from './progress-line.js';
import { mustExist, type Given, type ReadCommand } from './read-arguments.js';
import { UsageError } from './usage-error.js';

const MAX_REASON_LENGTH = 500;
const BUSY = 'A load goes on, or died less than half a minute ago; try again later.';

/** The classification register: one for all merchants, so only who sits at the machine may change it. */
@Injectable()
export class ClassifierCommands {
  constructor(
    private readonly load: LoadClassifier,
    private readonly back: GoBack,
    private readonly prisma: PrismaService,
    @Inject(SETTINGS_TOKEN) private readonly settings: GatewaySettings,
  ) {}

  /** @returns what is printed @throws UsageError */
  async run({ verb, target, values, flags }: ReadCommand, program: Program): Promise<unknown> {
    switch (verb) {
      case 'load':
        return this.loadFrom(target, values['source'], flags.has('allow-fewer'));
      case 'versions':
        return classifierStatus(this.prisma);
      case 'back':
        return this.goBack(values, program);
      default:
        return { resumed: await this.back.resume(program, reasonOf(values)) };
    }
  }

  private async loadFrom(kind: string, from: string | undefined, allowsFewer: boolean): Promise<LoadOutcome> {
    const sources: Record<ImportKind, string | undefined> = {
      full: this.settings.CLASSIFIER_FULL_URL,
      inactive: this.settings.CLASSIFIER_INACTIVE_URL,
      changes: this.settings.CLASSIFIER_CHANGES_URL,
      lines: undefined,
    };
    if (!Object.hasOwn(sources, kind)) throw new UsageError(`load takes ${Object.keys(sources).join(', ')}`);
    const source = from ?? sources[kind as ImportKind];
    if (source === undefined)
      throw new UsageError(`Where from? Give --source or set CLASSIFIER_${kind.toUpperCase()}_URL.`);
    if (!/^https?:/.test(source)) await mustExist(source);
    const line = new ProgressLine(process.stderr, null);
    try {
      const outcome = await this.load.execute(kind as ImportKind, source, {
        allowsFewer,
        onProgress: ({ rows, rejected, share }) => line.draw(rows, { share, rest: `${rejected} rejected` }),
      });
      if (outcome.kind === 'busy') throw new UsageError(BUSY);
      if (outcome.kind === 'failed') throw new UsageError(`Nothing was taken over: ${outcome.reason}`);
      return outcome;
    } finally {
      line.end();
    }
  }

  private async goBack(given: Given, program: Program): Promise<BackOutcome> {
    const { to } = given;
    if (to !== undefined && !/^[1-9]\d{0,8}$/.test(to)) throw new UsageError('--to must be the number of a version');
    const reason = reasonOf(given);
    const outcome = await this.back.execute(program, { to: to === undefined ? null : Number(to), reason });
    if (outcome.kind === 'busy') throw new UsageError(BUSY);
    if (outcome.kind === 'refused') {
      const hint = to === undefined ? ' Name the version with --to if that is what you want.' : '';
      throw new UsageError(`${outcome.reason}${hint}`);
    }
    return outcome;
  }
}

function reasonOf({ reason }: Given): string {
  const text = reason?.trim() ?? '';
  if (text === '' || text.length > MAX_REASON_LENGTH)
    throw new UsageError(`--reason must say why, in at most ${MAX_REASON_LENGTH} characters`);
  return text;
}
