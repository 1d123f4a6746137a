import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { CreateEnrolment } from './create-enrolment.js';
import { LinksController } from './links.controller.js';
import { RevokeLinkKey } from './revoke-link-key.js';

@Module({
  imports: [AuditModule],
  controllers: [LinksController],
  providers: [CreateEnrolment, RevokeLinkKey],
})
export class LinksModule {}
