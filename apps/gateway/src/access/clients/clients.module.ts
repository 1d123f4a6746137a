import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { ChangeClient } from './change-client.js';
import { Clients } from './clients.js';
import { ClientsController } from './clients.controller.js';
import { CreateClient } from './create-client.js';
import { RotateSecret } from './rotate-secret.js';
import { SwitchClient } from './switch-client.js';

/** Who may call for a merchant, with which scopes and from where. */
@Module({
  imports: [AuditModule],
  controllers: [ClientsController],
  providers: [Clients, CreateClient, ChangeClient, RotateSecret, SwitchClient],
  exports: [Clients, CreateClient, ChangeClient, RotateSecret, SwitchClient],
})
export class ClientsModule {}
