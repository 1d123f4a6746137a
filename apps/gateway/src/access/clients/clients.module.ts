import { Module } from '@nestjs/common';
import { AuditController } from '../../audit/audit.controller.js';
import { AuditModule } from '../../audit/audit.module.js';
import { ListAudit } from '../../audit/list-audit.js';
import { ChangeClient } from './change-client.js';
import { Clients } from './clients.js';
import { ClientsController } from './clients.controller.js';
import { CreateClient } from './create-client.js';
import { RotateSecret } from './rotate-secret.js';
import { SwitchClient } from './switch-client.js';

/** Who may call for a merchant, with which scopes and from where; and the trail of what was changed. */
@Module({
  imports: [AuditModule],
  controllers: [ClientsController, AuditController],
  providers: [Clients, CreateClient, ChangeClient, RotateSecret, SwitchClient, ListAudit],
})
export class ClientsModule {}
