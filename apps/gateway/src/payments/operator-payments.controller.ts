import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { IsIn, IsOptional, IsString, MaxLength, MinLength } from 'class-validator';
import { CurrentCaller, type Caller } from '../audit/caller.js';
import { ownId } from '../http/own-id.js';
import { Scopes, StepUp } from '../http/scopes.js';
import { IsCleanText, IsWebUrl } from '../http/body-constraints.js';
import { IsTimestamp } from '../http/query-rules.js';
import { EndExtraCharge } from './extra-charges/end-extra-charge.js';
import { PAYMENT_OUTCOMES, ResolvePayment, type PaymentOutcome } from './resolve-payment.js';
import { IsBoundedText, IsTiyin } from '../http/body-rules.js';

class ReasonBody {
  @IsString()
  @MinLength(5)
  @MaxLength(500)
  @IsCleanText()
  reason!: string;
}

class ResolveBody extends ReasonBody {
  @IsIn(PAYMENT_OUTCOMES)
  outcome!: PaymentOutcome;

  /** As the payment was read before the decision. With another one the decision may be about what came after it: 409. */
  @IsOptional()
  @IsString()
  @IsTimestamp()
  status_since?: string | null;

  /** The same: what was back of the money, in tiyin. */
  @IsOptional()
  @IsTiyin(0)
  refunded?: number | null;
}

class DocumentBody extends ReasonBody {
  @IsIn(['sale', 'refund'])
  document!: 'sale' | 'refund';

  /** Of the tax office: it names terminal, number, time and sign. */
  @IsWebUrl()
  @MaxLength(1_000)
  verification_url!: string;
}

class ExtraChargeBody extends ReasonBody {
  /** The provider's id of the charge, as the payment shows it. */
  @IsBoundedText(100)
  provider_ref!: string;

  @IsIn(['refunded', 'absent'])
  outcome!: 'refunded' | 'absent';
}

/** What only a person can decide about money; on the audit trail with the reason. */
@Controller('v1/operator/payments')
@Scopes('operator:resolve')
export class OperatorPaymentsController {
  constructor(
    private readonly resolving: ResolvePayment,
    private readonly extraCharges: EndExtraCharge,
  ) {}

  @Post(':id/resolve')
  @StepUp()
  @HttpCode(204)
  resolve(@CurrentCaller() caller: Caller, @Param('id') id: string, @Body() body: ResolveBody): Promise<void> {
    return this.resolving.resolve(caller, ownId('pay', id, 'payment'), body);
  }

  @Post(':id/document')
  @StepUp()
  @HttpCode(204)
  document(@CurrentCaller() caller: Caller, @Param('id') id: string, @Body() body: DocumentBody): Promise<void> {
    return this.resolving.giveDocument(caller, ownId('pay', id, 'payment'), body);
  }

  @Post(':id/extra-charges')
  @StepUp()
  @HttpCode(204)
  extraCharge(@CurrentCaller() caller: Caller, @Param('id') id: string, @Body() body: ExtraChargeBody): Promise<void> {
    return this.extraCharges.execute(caller, ownId('pay', id, 'payment'), body);
  }

  @Post(':id/retry')
  @StepUp()
  @HttpCode(204)
  retry(@CurrentCaller() caller: Caller, @Param('id') id: string, @Body() { reason }: ReasonBody): Promise<void> {
    return this.resolving.retry(caller, ownId('pay', id, 'payment'), reason);
  }
}
