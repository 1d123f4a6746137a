import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { PrismaService } from '#database';
import { CurrentCaller, type Caller } from '../audit/caller.js';
import { ownId } from '../http/own-id.js';
import { Scopes, StepUp } from '../http/scopes.js';
import { AdoptDevice } from './adopt-device.js';
import { NoteDelivered } from './note-delivered.js';
import { DeliveredDocumentsBody, ReasonBody } from './operator-bodies.js';
import { UnblockDevice } from './unblock-device.js';

export interface DeviceStateView {
  id: string;
  state: string;
  state_reason: string | null;
  terminal_id: string | null;
}

export interface DeliveredDocumentsView {
  /** That count as sent to the OFD from now on; 0 when it is said again. */
  receipts: number;
}

/** What a person decides about registers that have stopped. */
@Controller('v1/operator/devices')
@Scopes('operator:resolve')
export class OperatorDevicesController {
  constructor(
    private readonly adoptDevice: AdoptDevice,
    private readonly unblockDevice: UnblockDevice,
    private readonly noteDelivered: NoteDelivered,
    private readonly prisma: PrismaService,
  ) {}

  @Post(':id/adopt')
  @StepUp()
  @HttpCode(200)
  async adopt(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() body: ReasonBody,
  ): Promise<DeviceStateView> {
    const deviceId = ownId('dev', id, 'device');
    await this.adoptDevice.execute({ caller, deviceId, reason: body.reason.trim() });
    return this.view(deviceId);
  }

  @Post(':id/unblock')
  @StepUp()
  @HttpCode(200)
  async unblock(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() body: ReasonBody,
  ): Promise<DeviceStateView> {
    const deviceId = ownId('dev', id, 'device');
    await this.unblockDevice.execute({ caller, deviceId, reason: body.reason.trim() });
    return this.view(deviceId);
  }

  @Post(':id/delivered')
  @StepUp()
  @HttpCode(200)
  async delivered(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() { terminal_id: terminalId, up_to_seq: upToSeq = null, reason }: DeliveredDocumentsBody,
  ): Promise<DeliveredDocumentsView> {
    const delivery = { terminalId, upToSeq, reason: reason.trim() };
    return { receipts: await this.noteDelivered.execute(caller, ownId('dev', id, 'device'), delivery) };
  }

  private async view(deviceId: string): Promise<DeviceStateView> {
    const [row] = await this.prisma.$queryRaw<DeviceStateView[]>`
      SELECT id, state, state_reason, terminal_id FROM devices WHERE id = ${deviceId}`;
    if (!row) throw new Error(`device ${deviceId} has vanished`);
    return row;
  }
}
