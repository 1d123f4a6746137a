import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { PlacesModule } from '../places/places.module.js';
import { CallDevice } from './call-device.js';
import { ChangeDevice } from './change-device.js';
import { ChooseDevice } from './choose-device.js';
import { CountdownsController } from './countdowns.controller.js';
import { DeleteDevice } from './delete-device.js';
import { DeviceAddress } from './device-address.js';
import { DeviceCallsController } from './device-calls.controller.js';
import { DeviceHistory } from './device-history.js';
import { DeviceTasks } from './device-tasks.js';
import { DeviceRepository } from './device.repository.js';
import { DevicesController } from './devices.controller.js';
import { PlaceDirectory } from './place-directory.js';
import { RegisterDevice } from './register-device.js';
import { SwitchDevice } from './switch-device.js';
import { TriedOutDevices } from './tried-out-devices.js';

/** Registers: made, changed, called, and chosen for a sale. */
@Module({
  imports: [AuditModule, PlacesModule],
  controllers: [DevicesController, DeviceCallsController, CountdownsController],
  providers: [
    DeviceRepository,
    DeviceHistory,
    DeviceAddress,
    TriedOutDevices,
    RegisterDevice,
    ChangeDevice,
    SwitchDevice,
    DeleteDevice,
    CallDevice,
    DeviceTasks,
    PlaceDirectory,
    ChooseDevice,
  ],
  exports: [ChooseDevice, DeviceRepository],
})
export class DevicesModule {}
