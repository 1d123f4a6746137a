import { Matches } from 'class-validator';
import { IsName, IsOwnCode } from '../../http/body-rules.js';

export class NewMerchantInput {
  @IsOwnCode()
  code!: string;

  @IsName()
  name!: string;

  @Matches(/^\d{9}$/, { message: 'tin must have nine digits' })
  tin!: string;
}
