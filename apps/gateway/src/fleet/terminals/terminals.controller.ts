import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { deviceView, type DeviceView } from '../devices/device-view.js';
import { DeviceRepository } from '../devices/device.repository.js';
import { notFound, ownId } from '../../http/own-id.js';
import { Scopes } from '../../http/scopes.js';
import { ChallengeTerminal, type ChallengeView } from './challenge-terminal.js';
import { ProveTerminal } from './prove-terminal.js';
import { TerminalProofBody } from './terminal-bodies.js';

/** For which merchant a fiscal module works, where another one holds its terminal (docs/fleet.md). */
@Controller('v1/devices')
@Scopes('devices:admin')
export class TerminalsController {
  constructor(
    private readonly challengeTerminal: ChallengeTerminal,
    private readonly proveTerminal: ProveTerminal,
    private readonly devices: DeviceRepository,
  ) {}

  @Post(':id/terminal-challenge')
  challenge(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<ChallengeView> {
    return this.challengeTerminal.execute(caller, ownId('dev', id, 'device'));
  }

  @Post(':id/terminal-proof')
  @HttpCode(200)
  async prove(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() { verification_url: url }: TerminalProofBody,
  ): Promise<DeviceView> {
    const deviceId = ownId('dev', id, 'device');
    if (!(await this.devices.find(caller.merchantId, deviceId))) throw notFound('device');
    await this.proveTerminal.execute(caller, deviceId, url);
    const row = await this.devices.find(caller.merchantId, deviceId);
    if (!row) throw notFound('device');
    return deviceView(row);
  }
}
