import { Module } from '@nestjs/common';
import { AuditHeads } from './audit-heads.js';
import { AuditTrail } from './audit-trail.js';
import { AuditedChange } from './audited-change.js';
import { VerifyAuditTrail } from './verify-audit-trail.js';

/** The trail of everything that a person decided. */
@Module({
  providers: [AuditHeads, AuditTrail, VerifyAuditTrail, AuditedChange],
  exports: [AuditTrail, VerifyAuditTrail, AuditedChange],
})
export class AuditModule {}
