import { IsOptional, IsString, Matches, MaxLength } from 'class-validator';
import { IsGivenOrAbsent, IsIdOrCode, IsName, IsOwnCode } from '../http/body-rules.js';
import { PageQuery } from '../http/paging.js';
import { IsCleanText } from '../receipts/body-constraints.js';

export class BranchBody {
  @IsOwnCode()
  code!: string;

  @IsName()
  name!: string;

  @IsGivenOrAbsent()
  @IsString()
  @MaxLength(512)
  @IsCleanText()
  address?: string;

  @IsOptional()
  @IsIdOrCode()
  default_device_id?: string | null;
}

export class BranchPatch {
  @IsGivenOrAbsent()
  @IsOwnCode()
  code?: string;

  @IsGivenOrAbsent()
  @IsName()
  name?: string;

  @IsGivenOrAbsent()
  @IsString()
  @MaxLength(512)
  @IsCleanText()
  address?: string;

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
