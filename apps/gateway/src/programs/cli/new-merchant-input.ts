import { IsIn, Matches } from 'class-validator';
import { MERCHANT_MODES, type MerchantMode } from '../../fleet/merchants/merchants.js';
import { IsGivenOrAbsent } from '../../http/body-rules.js';
import { IsName, IsOwnCode } from '../../http/body-rules.js';

export class NewMerchantInput {
  @IsOwnCode()
  code!: string;

  @IsName()
  name!: string;

  @Matches(/^\d{9}$/, { message: 'tin must have nine digits' })
  tin!: string;

  @IsGivenOrAbsent()
  @IsIn(MERCHANT_MODES)
  mode?: MerchantMode;
}
