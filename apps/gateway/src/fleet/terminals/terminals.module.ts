import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { DevicesModule } from '../devices/devices.module.js';
import { ChallengeTerminal } from './challenge-terminal.js';
import { OfdPage } from './ofd-page.js';
import { ProveTerminal } from './prove-terminal.js';
import { TerminalsController } from './terminals.controller.js';

/** For which merchant a fiscal module works. */
@Module({
  imports: [AuditModule, DevicesModule],
  controllers: [TerminalsController],
  providers: [ChallengeTerminal, ProveTerminal, OfdPage],
})
export class TerminalsModule {}
