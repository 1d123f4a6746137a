import { Controller, Get, Query } from '@nestjs/common';
import type { Page } from '../http/paging.js';
import { Scopes } from '../http/scopes.js';
import { AuditQuery, AuditVerificationQuery } from './audit-query.js';
import { CurrentCaller, type Caller } from './caller.js';
import { ListAudit, type AuditView } from './list-audit.js';
import { ShowVerification, type AuditVerificationView } from './show-verification.js';

@Controller('v1/audit')
@Scopes('clients:read')
export class AuditController {
  constructor(
    private readonly listAudit: ListAudit,
    private readonly verification: ShowVerification,
  ) {}

  @Get()
  list(@CurrentCaller() { merchantId }: Caller, @Query() query: AuditQuery): Promise<Page<AuditView>> {
    return this.listAudit.execute(merchantId, query);
  }

  @Get('verification')
  verify(
    @CurrentCaller() { merchantId }: Caller,
    @Query() query: AuditVerificationQuery,
  ): Promise<AuditVerificationView> {
    return this.verification.execute(merchantId, query);
  }
}
