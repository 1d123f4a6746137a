import { Module } from '@nestjs/common';
import { AuditHeads } from './audit-heads.js';
import { AuditTrail } from './audit-trail.js';
import { AuditedChange } from './audited-change.js';
import { Refusals } from './refusals.js';
import { VerifyAuditTrail } from './verify-audit-trail.js';

/** The trail of everything that a person decided. */
@Module({
  providers: [AuditHeads, AuditTrail, VerifyAuditTrail, AuditedChange, Refusals],
  exports: [AuditTrail, VerifyAuditTrail, AuditedChange, Refusals],
})
export class AuditModule {}
