import { Controller, Get, Query } from '@nestjs/common';
import type { Page } from '../http/paging.js';
import { Scopes } from '../http/scopes.js';
import { AuditQuery } from './audit-query.js';
import { CurrentCaller, type Caller } from './caller.js';
import { ListAudit, type AuditView } from './list-audit.js';

@Controller('v1/audit')
@Scopes('clients:read')
export class AuditController {
  constructor(private readonly listAudit: ListAudit) {}

  @Get()
  list(@CurrentCaller() { merchantId }: Caller, @Query() query: AuditQuery): Promise<Page<AuditView>> {
    return this.listAudit.execute(merchantId, query);
  }
}
