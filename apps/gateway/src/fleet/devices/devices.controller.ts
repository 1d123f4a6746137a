import { Body, Controller, Delete, Get, Header, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { normaliseText } from '#fiscal-domain';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { notFound, ownId } from '../../http/own-id.js';
import { pageOf, pageRequest, type Page } from '../../http/paging.js';
import { Scopes } from '../../http/scopes.js';
import { Places } from '../places/places.js';
import { ChangeDevice } from './change-device.js';
import { DeleteDevice } from './delete-device.js';
import { DeviceBody, DevicePatch, DevicesQuery } from './device-bodies.js';
import { deviceView, type DeviceView } from './device-view.js';
import { DeviceRepository } from './device.repository.js';
import { RegisterDevice } from './register-device.js';
import { SwitchDevice, type DeviceSwitch } from './switch-device.js';

/** The registers of a merchant (docs/fleet.md). */
@Controller('v1/devices')
@Scopes('devices:admin')
export class DevicesController {
  constructor(
    private readonly registerDevice: RegisterDevice,
    private readonly changeDevice: ChangeDevice,
    private readonly switchDevice: SwitchDevice,
    private readonly deleteDevice: DeleteDevice,
    private readonly devices: DeviceRepository,
    private readonly places: Places,
  ) {}

  @Post()
  @HttpCode(201)
  @Header('cache-control', 'no-store')
  async register(@CurrentCaller() caller: Caller, @Body() body: DeviceBody): Promise<DeviceView> {
    return this.view(caller, await this.registerDevice.execute(caller, body));
  }

  @Get()
  @Scopes('devices:read')
  async list(@CurrentCaller() { merchantId }: Caller, @Query() query: DevicesQuery): Promise<Page<DeviceView>> {
    const request = pageRequest(query, 'dev');
    const filter = {
      branchId: query.branch_id === undefined ? null : await this.places.branchId(merchantId, query.branch_id),
      groupId: query.group_id === undefined ? null : await this.places.groupId(merchantId, query.group_id),
      state: query.state ?? null,
      attention: query.attention === 'true',
      search: query.q === undefined ? null : normaliseText(query.q),
    };
    return pageOf(await this.devices.list(merchantId, filter, request), request.limit, deviceView);
  }

  @Get(':id')
  @Scopes('devices:read')
  get(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<DeviceView> {
    return this.view(caller, ownId('dev', id, 'device'));
  }

  @Patch(':id')
  async change(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() patch: DevicePatch,
  ): Promise<DeviceView> {
    const deviceId = ownId('dev', id, 'device');
    const known = await this.devices.find(caller.merchantId, deviceId);
    if (!known) throw notFound('device');
    await this.changeDevice.execute(caller, known, patch);
    return this.view(caller, deviceId);
  }

  @Delete(':id')
  @HttpCode(204)
  async delete(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<void> {
    await this.deleteDevice.execute(caller, ownId('dev', id, 'device'));
  }

  @Post(':id/disable')
  @HttpCode(200)
  disable(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<DeviceView> {
    return this.switch(caller, id, 'disable');
  }

  @Post(':id/enable')
  @HttpCode(200)
  enable(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<DeviceView> {
    return this.switch(caller, id, 'enable');
  }

  @Post(':id/drain')
  @HttpCode(200)
  drain(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<DeviceView> {
    return this.switch(caller, id, 'drain');
  }

  @Post(':id/resume')
  @HttpCode(200)
  resume(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<DeviceView> {
    return this.switch(caller, id, 'resume');
  }

  private async switch(caller: Caller, id: string, what: DeviceSwitch): Promise<DeviceView> {
    const deviceId = ownId('dev', id, 'device');
    await this.switchDevice.execute(caller, deviceId, what);
    return this.view(caller, deviceId);
  }

  private async view({ merchantId }: Caller, deviceId: string): Promise<DeviceView> {
    const row = await this.devices.find(merchantId, deviceId);
    if (!row) throw notFound('device');
    return deviceView(row);
  }
}
