import { Body, Controller, Get, Put } from '@nestjs/common';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsIn,
  IsInt,
  Matches,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { MAX_TIYIN } from '#fiscal-domain';
import { PROVIDERS, type ProviderCode } from '#payments';
import { Problem, type ProblemError } from '#problems';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { IsGivenOrAbsent, IsTiyin } from '../../http/body-rules.js';
import { FourEyes, Scopes, StepUp } from '../../http/scopes.js';
import { PaymentRouting, type RoutingView } from './payment-routing.js';

/** When a provider may be taken, and what it costs. */
class ProviderRuleBody {
  @IsIn(PROVIDERS)
  provider!: ProviderCode;

  /** Tiyin, this sum included. */
  @IsGivenOrAbsent()
  @IsTiyin(0)
  amount_min?: number;

  /** Tiyin, this sum included. */
  @IsGivenOrAbsent()
  @IsTiyin(0)
  amount_max?: number;

  /** First digits of cards. Absent: every card, and an unknown one. */
  @IsGivenOrAbsent()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(100)
  @ArrayUnique()
  @Matches(/^\d{1,8}$/, { each: true })
  card_ranges?: string[];

  /** Its commission in hundredths of a percent. */
  @IsGivenOrAbsent()
  @IsInt()
  @Min(0)
  @Max(10_000)
  cost_basis_points?: number;

  /** Its commission in tiyin for each payment. */
  @IsGivenOrAbsent()
  @IsTiyin(0)
  cost_fixed?: number;
}

class RoutingBody {
  /** `order`: the first rule that fits. `cost`: the cheapest. */
  @IsIn(['order', 'cost'])
  prefer!: 'order' | 'cost';

  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(50)
  @ValidateNested({ each: true })
  @Type(() => ProviderRuleBody)
  rules!: ProviderRuleBody[];
}

/** @throws Problem 422: a rule that no sum can meet */
function refuseEmptyRanges(rules: readonly ProviderRuleBody[]): void {
  const faults = rules.flatMap(({ amount_min: least = 0, amount_max: most = MAX_TIYIN }, index): ProblemError[] => {
    if (least <= most) return [];
    const pointer = `/rules/${String(index)}/amount_max`;
    return [{ pointer, code: 'out_of_range', detail: 'amount_max is below amount_min: no sum meets the rule' }];
  });
  if (faults.length > 0) throw Problem.fromErrors(faults);
}

/** Who takes a payment whose provider is "auto". */
@Controller('v1/payment-routing')
@Scopes('clients:admin')
export class PaymentRoutingController {
  constructor(private readonly routing: PaymentRouting) {}

  /** Without rules of the merchant's own: its accounts, in the order in which they were made. */
  @Get()
  @Scopes('clients:read')
  read(@CurrentCaller() { merchantId }: Caller): Promise<RoutingView> {
    return this.routing.find(merchantId);
  }

  /** All rules at once. A provider that no rule names takes no payment of `auto`. */
  @Put()
  @StepUp()
  @FourEyes('provider_account')
  replace(@CurrentCaller() caller: Caller, @Body() { prefer, rules }: RoutingBody): Promise<RoutingView> {
    refuseEmptyRanges(rules);
    return this.routing.replace(caller, { prefer, rules: rules.map((rule) => ({ ...rule })) });
  }
}
