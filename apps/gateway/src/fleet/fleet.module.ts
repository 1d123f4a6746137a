import { Module } from '@nestjs/common';
import { DevicesModule } from './devices/devices.module.js';
import { LinksModule } from './links/links.module.js';
import { PlatformModule } from './platform/platform.module.js';
import { PlacesModule } from './places/places.module.js';
import { TerminalsModule } from './terminals/terminals.module.js';

/** Merchants, branches, cashiers, groups and registers: who sells, where, and on what. */
@Module({
  imports: [PlacesModule, DevicesModule, LinksModule, TerminalsModule, PlatformModule],
  exports: [DevicesModule],
})
export class FleetModule {}
