import { Module, type OnModuleInit } from '@nestjs/common';
import { PrismaService, type DeviceTaskResult, type InspectParams } from '#database';
import { OutgoingGuard } from '#outgoing';
import { type Logger } from '#runtime';
import { RegisterConnections } from '../devices/register-connections.js';
import { EmulatedRegisters } from '../emulated/emulated-register.js';
import { Links } from '../links/links.js';
import { LanesModule } from '../lanes/lanes.module.js';
import type { RelaySettings } from '../settings.js';
import type { DeviceTask } from '../tasks/device-task.js';
import { DeviceTaskHandlers } from '../tasks/device-task-handlers.js';
import { TasksModule } from '../tasks/tasks.module.js';
import { provided } from '../provided.js';
import { LOGGER, SETTINGS_TOKEN } from '../tokens.js';
import { AdmitLinkedDevice } from './admit-linked-device.js';
import { AdmitWhenLinked } from './admit-when-linked.js';
import { InspectDevice, type OpenInspectionLine } from './inspect-device.js';
import { InspectionRepository } from './inspection.repository.js';

type InspectDependencies = [InspectionRepository, RelaySettings, Links, EmulatedRegisters];

/** Finds out who a register is before it may take receipts. */
@Module({
  imports: [LanesModule, TasksModule],
  providers: [
    provided(InspectionRepository, PrismaService),
    {
      provide: InspectDevice,
      inject: [InspectionRepository, SETTINGS_TOKEN, Links, EmulatedRegisters],
      useFactory: (...[rows, settings, links, emulated]: InspectDependencies) =>
        new InspectDevice(rows, linesOf(settings, links, emulated)),
    },
    provided(AdmitLinkedDevice, InspectDevice, InspectionRepository, LOGGER),
    {
      provide: AdmitWhenLinked,
      inject: [Links, AdmitLinkedDevice, SETTINGS_TOKEN, LOGGER],
      useFactory: (links: Links, admit: AdmitLinkedDevice, { STOP_DEADLINE_MS }: RelaySettings, logger: Logger) =>
        new AdmitWhenLinked(links, admit, STOP_DEADLINE_MS, logger),
    },
  ],
  exports: [AdmitWhenLinked],
})
export class InspectionModule implements OnModuleInit {
  constructor(
    private readonly handlers: DeviceTaskHandlers,
    private readonly inspector: InspectDevice,
  ) {}

  onModuleInit(): void {
    this.handlers.add({ kind: 'inspect', run: (task) => this.inspect(task) });
  }

  private async inspect({ deviceId, params }: DeviceTask): Promise<DeviceTaskResult> {
    const inspection = await this.inspector.execute(deviceId, readParams(params));
    return inspection.kind === 'ok' ? { kind: 'ok', value: { ...inspection.introduction } } : inspection;
  }
}

function linesOf(
  { SECRETS_KEY, DEVICE_ALLOWED_CIDRS }: RelaySettings,
  links: Links,
  emulated: EmulatedRegisters,
): OpenInspectionLine {
  const guard = OutgoingGuard.forDevices(DEVICE_ALLOWED_CIDRS);
  return (device) => {
    const connections = new RegisterConnections(SECRETS_KEY, guard, links, emulated);
    return { register: connections.of(device), close: () => connections.close() };
  };
}

function readParams(params: unknown): InspectParams {
  if (typeof params !== 'object' || params === null) return {};
  const { baseUrl, apiKeySealed } = params as Record<string, unknown>;
  return {
    ...(typeof baseUrl === 'string' && { baseUrl }),
    ...(typeof apiKeySealed === 'string' && { apiKeySealed }),
  };
}
