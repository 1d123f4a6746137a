import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { ClockDrift } from './clock-drift-metric.js';
import { SignatureGate } from './signature-gate.js';
import { SigningKeys } from './signing-keys.js';
import { UsedNonces } from './used-nonces.js';

/** Checks the signatures of requests, for the access guard. */
@Module({
  imports: [AuditModule],
  providers: [UsedNonces, ClockDrift, SigningKeys, SignatureGate],
  exports: [SignatureGate],
})
export class SigningModule {}
