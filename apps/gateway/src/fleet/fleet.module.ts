import { Module } from '@nestjs/common';
import { PrismaService } from '#database';
import type { Logger } from '#runtime';
import { AuditModule } from '../audit/audit.module.js';
import { Branches } from './branches/branches.js';
import { BranchesController } from './branches/branches.controller.js';
import { Cashiers } from './cashiers/cashiers.js';
import { CashiersController } from './cashiers/cashiers.controller.js';
import { CallDevice } from './devices/call-device.js';
import { ChangeDevice } from './devices/change-device.js';
import { CountdownsController } from './devices/countdowns.controller.js';
import { DeleteDevice } from './devices/delete-device.js';
import { DeviceAddress } from './devices/device-address.js';
import { DeviceCallsController } from './devices/device-calls.controller.js';
import { DeviceHistory } from './devices/device-history.js';
import { DeviceTasks } from './devices/device-tasks.js';
import { DeviceRepository } from './devices/device.repository.js';
import { DevicesController } from './devices/devices.controller.js';
import { RegisterDevice } from './devices/register-device.js';
import { SwitchDevice } from './devices/switch-device.js';
import { TriedOutDevices } from './devices/tried-out-devices.js';
import { Groups } from './groups/groups.js';
import { GroupsController } from './groups/groups.controller.js';
import { MerchantController } from './merchants/merchant.controller.js';
import { Merchants } from './merchants/merchants.js';
import { Places } from './places/places.js';
import type { GatewaySettings } from '../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../tokens.js';

/** Merchants, branches, cashiers, groups and registers: who sells, where, and on what. */
@Module({
  imports: [AuditModule],
  controllers: [
    DevicesController,
    DeviceCallsController,
    CountdownsController,
    BranchesController,
    CashiersController,
    GroupsController,
    MerchantController,
  ],
  providers: [
    Places,
    Branches,
    Cashiers,
    Groups,
    Merchants,
    DeviceRepository,
    DeviceHistory,
    DeviceAddress,
    TriedOutDevices,
    RegisterDevice,
    ChangeDevice,
    SwitchDevice,
    DeleteDevice,
    CallDevice,
    {
      provide: DeviceTasks,
      inject: [PrismaService, SETTINGS_TOKEN, LOGGER],
      useFactory: (prisma: PrismaService, { DATABASE_URL }: GatewaySettings, logger: Logger) =>
        new DeviceTasks(prisma, { databaseUrl: DATABASE_URL }, logger),
    },
  ],
})
export class FleetModule {}
