import { IsOptional, Matches } from 'class-validator';
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
