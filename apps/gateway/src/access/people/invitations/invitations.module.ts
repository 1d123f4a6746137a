import { Module } from '@nestjs/common';
import { AuditModule } from '../../../audit/audit.module.js';
import { Invitations } from './invitations.js';

/** Links for new users; the command line has it too. */
@Module({ imports: [AuditModule], providers: [Invitations], exports: [Invitations] })
export class InvitationsModule {}
