import { IsOptional } from 'class-validator';
import { IsGivenOrAbsent, IsIdOrCode, IsName, IsOwnCode } from '../http/body-rules.js';

export class GroupBody {
  @IsOwnCode()
  code!: string;

  @IsName()
  name!: string;

  /** Preferred within the group while it is healthy. */
  @IsOptional()
  @IsIdOrCode()
  default_device_id?: string | null;
}

export class GroupPatch {
  @IsGivenOrAbsent()
  @IsOwnCode()
  code?: string;

  @IsGivenOrAbsent()
  @IsName()
  name?: string;

  @IsOptional()
  @IsIdOrCode()
  default_device_id?: string | null;
}
