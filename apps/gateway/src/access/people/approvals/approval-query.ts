import { IsIn, IsOptional } from 'class-validator';
import { PageQuery } from '../../../http/paging.js';

export const APPROVAL_STATES = ['pending', 'approved', 'refused', 'used', 'expired'] as const;
export type ApprovalStateView = (typeof APPROVAL_STATES)[number];

export class ApprovalQuery extends PageQuery {
  @IsOptional()
  @IsIn(APPROVAL_STATES)
  state?: ApprovalStateView;
}
