import { IsOptional, Matches } from 'class-validator';
import { IsGivenOrAbsent, IsIdOrCode, IsName, IsOwnCode } from '../../http/body-rules.js';
import { PageQuery } from '../../http/paging.js';

/** What making a branch, a group or a cashier needs. */
export class PlaceBody {
  @IsOwnCode()
  code!: string;

  @IsName()
  name!: string;

  /** Preferred while it is healthy. */
  @IsOptional()
  @IsIdOrCode()
  default_device_id?: string | null;
}

export class PlacePatch {
  @IsGivenOrAbsent()
  @IsOwnCode()
  code?: string;

  @IsGivenOrAbsent()
  @IsName()
  name?: string;

  /** Preferred while it is healthy. */
  @IsOptional()
  @IsIdOrCode()
  default_device_id?: string | null;
}

export class ArchivableQuery extends PageQuery {
  /** Archived ones too. */
  @IsOptional()
  @Matches(/^(true|false)$/, { message: 'archived must be true or false' })
  archived?: string;
}
