import { IsOptional } from 'class-validator';
import { IsGivenOrAbsent, IsIdOrCode, IsName, IsOwnCode } from '../http/body-rules.js';

export class CashierBody {
  @IsOwnCode()
  code!: string;

  @IsName()
  name!: string;

  /** Our id or the merchant's code. Without one, every sale has to name its branch. */
  @IsOptional()
  @IsIdOrCode()
  branch_id?: string | null;

  @IsOptional()
  @IsIdOrCode()
  default_device_id?: string | null;
}

export class CashierPatch {
  @IsGivenOrAbsent()
  @IsOwnCode()
  code?: string;

  @IsGivenOrAbsent()
  @IsName()
  name?: string;

  @IsOptional()
  @IsIdOrCode()
  branch_id?: string | null;

  @IsOptional()
  @IsIdOrCode()
  default_device_id?: string | null;
}
