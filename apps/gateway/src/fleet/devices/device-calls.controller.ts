import { Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { DeviceTaskKind } from '#database';
import { Answers } from '#runtime';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { notFound, ownId } from '../../http/own-id.js';
import { PageQuery, type Page } from '../../http/paging.js';
import { OwnTurn, Scopes } from '../../http/scopes.js';
import { DeviceHistory, type AttemptView, type ZReportView } from './device-history.js';
import { DeviceTasks } from './device-tasks.js';
import { DeviceRepository, type DeviceRow } from './device.repository.js';
import { CallDevice, type CallView } from './call-device.js';
import { snakeCased } from '../../http/snake-cased.js';

/** What a register is asked now, and what has happened at it. */
@Controller('v1/devices/:id')
@Scopes('devices:admin')
export class DeviceCallsController {
  constructor(
    private readonly callDevice: CallDevice,
    private readonly tasks: DeviceTasks,
    private readonly devices: DeviceRepository,
    private readonly history: DeviceHistory,
  ) {}

  /** Reads its health now, and lifts a block whose reason is gone. */
  @Post('check')
  @Answers({ statuses: [200, 202] })
  check(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CallView> {
    return this.call({ caller, id, kind: 'check', reply });
  }

  @OwnTurn()
  @Get('shift')
  @Scopes('devices:read')
  @Answers({ statuses: [200, 202] })
  shift(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CallView> {
    return this.call({ caller, id, kind: 'shift_status', reply });
  }

  @Post('shift/open')
  @Answers({ statuses: [200, 202] })
  openShift(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CallView> {
    return this.call({ caller, id, kind: 'shift_open', reply });
  }

  @Post('shift/close')
  @Answers({ statuses: [200, 202] })
  closeShift(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CallView> {
    return this.call({ caller, id, kind: 'shift_close', reply });
  }

  /** What became of a call that was answered with 202. */
  @Get('tasks/:taskId')
  @Scopes('devices:read')
  async task(
    @CurrentCaller() { merchantId }: Caller,
    @Param('id') id: string,
    @Param('taskId') taskId: string,
  ): Promise<Record<string, unknown>> {
    const row = await this.tasks.find(merchantId, ownId('dev', id, 'task'), ownId('tsk', taskId, 'task'));
    if (!row) throw notFound('task');
    const { kind, state, result } = row;
    const error = result?.kind === 'failed' ? { code: result.code, detail: result.detail } : null;
    return {
      ...{ task_id: row.id, kind, state, result: result?.kind === 'ok' ? snakeCased(result.value) : null, error },
      ...{ created_at: row.created_at.toISOString(), finished_at: row.finished_at?.toISOString() ?? null },
    };
  }

  @Get('attempts')
  @Scopes('devices:read')
  async attempts(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Query() query: PageQuery,
  ): Promise<Page<AttemptView>> {
    const device = await this.own(caller, id);
    return this.history.attempts(device.id, query);
  }

  @Get('z-reports')
  @Scopes('devices:read')
  async zReports(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Query() query: PageQuery,
  ): Promise<Page<ZReportView>> {
    const device = await this.own(caller, id);
    return this.history.zReports(device.id, query);
  }

  private async call(request: {
    caller: Caller;
    id: string;
    kind: DeviceTaskKind;
    reply: FastifyReply;
  }): Promise<CallView> {
    const { caller, id, kind, reply } = request;
    const device = await this.own(caller, id);
    const view = await this.callDevice.execute(caller, device, kind);
    if (view.state === 'done') {
      reply.status(200);
      return view;
    }
    const location = `/v1/devices/${device.id}/tasks/${view.task_id}`;
    reply.status(202).headers({ location, 'retry-after': '5' });
    return view;
  }

  private async own({ merchantId }: Caller, id: string): Promise<DeviceRow> {
    const row = await this.devices.find(merchantId, ownId('dev', id, 'device'));
    if (!row) throw notFound('device');
    return row;
  }
}
