import { Module } from '@nestjs/common';
import { AuditController } from './audit.controller.js';
import { AuditHeads } from './audit-heads.js';
import { AuditTrail } from './audit-trail.js';
import { AuditedChange } from './audited-change.js';
import { ListAudit } from './list-audit.js';
import { Refusals } from './refusals.js';
import { ShowVerification } from './show-verification.js';
import { VerifyAuditTrail } from './verify-audit-trail.js';

/** The trail of everything that a person decided. */
@Module({
  controllers: [AuditController],
  providers: [ListAudit, ShowVerification, AuditHeads, AuditTrail, VerifyAuditTrail, AuditedChange, Refusals],
  exports: [AuditTrail, VerifyAuditTrail, AuditedChange, Refusals],
})
export class AuditModule {}
