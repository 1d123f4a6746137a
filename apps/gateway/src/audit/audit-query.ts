import { IsOptional, IsString, Matches, MaxLength } from 'class-validator';
import { PageQuery } from '../http/paging.js';

export class AuditQuery extends PageQuery {
  /** `client.disable`. */
  @IsOptional()
  @Matches(/^[a-z_]{1,40}\.[a-z_]{1,40}$/, { message: 'action must be of the form client.disable' })
  action?: string;

  /** Id of what was changed. */
  @IsOptional()
  @Matches(/^[A-Za-z0-9_-]{1,64}$/, { message: 'subject_id must be an id' })
  subject_id?: string;
}

export class AuditVerificationQuery {
  /** 1–1000, default 1000. */
  @IsOptional()
  @Matches(/^([1-9]\d{0,2}|1000)$/, { message: 'limit must be a number from 1 to 1000' })
  limit?: string;

  /** `cursor` of an answer from before: goes on behind it, and proves that the trail still has it. */
  @IsOptional()
  @IsString()
  @MaxLength(100)
  cursor?: string;
}
