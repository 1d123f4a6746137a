import { Controller, Get, Query } from '@nestjs/common';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { PageQuery, pageOf, pageRequest, type Page } from '../../http/paging.js';
import { Scopes } from '../../http/scopes.js';
import { deviceView, type CountdownsView, type LaneView } from './device-view.js';
import { DeviceRepository, EVERY_DEVICE, type DeviceRow } from './device.repository.js';

/** A register as an operator watches it. */
interface WatchedDeviceView {
  device_id: string;
  name: string;
  branch_id: string;
  terminal_id: string | null;
  state: string;
  state_reason: string | null;
  lane: LaneView;
  countdowns: CountdownsView;
}

/** What runs out at each register, for clients that decide about receipts without administering registers. */
@Controller('v1/operator/countdowns')
@Scopes('operator:resolve')
export class CountdownsController {
  constructor(private readonly devices: DeviceRepository) {}

  @Get()
  @Scopes('operator:read')
  async list(@CurrentCaller() { merchantId }: Caller, @Query() query: PageQuery): Promise<Page<WatchedDeviceView>> {
    const request = pageRequest(query, 'dev');
    const rows = await this.devices.list(merchantId, EVERY_DEVICE, request);
    return pageOf(rows, request.limit, watchedDeviceView);
  }
}

function watchedDeviceView(row: DeviceRow): WatchedDeviceView {
  const { id, name, branch_id, terminal_id, state, state_reason, lane, countdowns } = deviceView(row);
  return { device_id: id, name, branch_id, terminal_id, state, state_reason, lane, countdowns };
}
