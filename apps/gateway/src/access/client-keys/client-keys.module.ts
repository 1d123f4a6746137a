import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { ClientKeysController } from './client-keys.controller.js';
import { CreateClientKey } from './create-client-key.js';
import { DisableClientKey } from './disable-client-key.js';
import { ListClientKeys } from './list-client-keys.js';

@Module({
  imports: [AuditModule],
  controllers: [ClientKeysController],
  providers: [CreateClientKey, DisableClientKey, ListClientKeys],
})
export class ClientKeysModule {}
