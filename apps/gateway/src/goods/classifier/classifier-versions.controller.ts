import { Body, Controller, Get, HttpCode, Inject, Post } from '@nestjs/common';
import { PrismaService } from '#database';
import { Problem } from '#problems';
import type { Logger } from '#runtime';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { IsBoundedText, IsGivenOrAbsent, IsWholeNumber } from '../../http/body-rules.js';
import { OverMerchants, Scopes, StepUp } from '../../http/scopes.js';
import { LOGGER } from '../../tokens.js';
import { GoBack, type BegunBack, type Operator } from './go-back.js';
import { classifierStatus, type ClassifierStatus } from './versions-kept.js';

class FetchingBody {
  @IsBoundedText(500, 5)
  reason!: string;
}

class BackBody extends FetchingBody {
  /** The version whose content is wanted; absent: the one before what is in force. */
  @IsGivenOrAbsent()
  @IsWholeNumber(1, 2 ** 31 - 1)
  to?: number;
}

export interface BegunBackView {
  /** Of GET /v1/classifier/imports, where it says how it ended. */
  import_id: number;
}

/** The register belongs to no merchant: which of its versions is in force is for who runs the installation. */
@Controller('v1/platform/classifier')
@Scopes('platform:admin')
@OverMerchants()
export class ClassifierVersionsController {
  constructor(
    private readonly back: GoBack,
    private readonly prisma: PrismaService,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** What is in force, the newest thirty versions, and whether new ones are fetched. */
  @Get()
  @Scopes('platform:read')
  status(): Promise<ClassifierStatus> {
    return classifierStatus(this.prisma);
  }

  /** The content of an earlier version comes into force as a new version. Nothing is fetched by itself afterwards. */
  @Post('back')
  @StepUp()
  @HttpCode(202)
  async goBack(@CurrentCaller() caller: Caller, @Body() { to, reason }: BackBody): Promise<BegunBackView> {
    const request = { to: to ?? null, reason };
    const objection = await this.back.objectionTo(request);
    if (objection !== null) throw Problem.at('/to', 'invalid_value', objection);
    const begun = await this.back.begin(operatorOf(caller), request);
    if (begun.kind === 'busy') throw new Problem('import_busy', 'The register is loaded or changed at this moment.');
    void this.finish(begun);
    return { import_id: begun.importId };
  }

  /** New versions are fetched again, as the settings say. */
  @Post('resume')
  @StepUp()
  @HttpCode(200)
  async resume(@CurrentCaller() caller: Caller, @Body() { reason }: FetchingBody): Promise<ClassifierStatus> {
    await this.back.resume(operatorOf(caller), reason);
    return classifierStatus(this.prisma);
  }

  /** The import says how it ended; here only what its row may not say. */
  private async finish({ importId, finish }: BegunBack & { kind: 'begun' }): Promise<void> {
    try {
      const outcome = await finish();
      this.logger.info({ import_id: importId, outcome: outcome.kind }, 'the classification register went back');
    } catch (error) {
      this.logger.error({ err: error, import_id: importId }, 'going back to an earlier classification register failed');
    }
  }
}

/** It stands on every merchant's trail, whichever the person named. */
function operatorOf({ merchantId: _merchantId, ...operator }: Caller): Operator {
  return operator;
}
