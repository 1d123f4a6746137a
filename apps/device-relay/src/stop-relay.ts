import { setTimeout as delay } from 'node:timers/promises';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { stopFastifyNestApp } from '#http';
import { endsWithin, Stopping } from '#runtime';
import { LanesModule } from './lanes/lanes.module.js';
import { Links } from './links/links.js';
import { RestoreModule } from './restore/restore.module.js';
import type { RelaySettings } from './settings.js';
import { TasksModule } from './tasks/tasks.module.js';
import { WatchModule } from './watch.module.js';

/**
 * Not ready from now on, and nothing new is begun. Calls to registers that are under way end first, each by its own deadline,
 * then those of other relays over links held here, then the server. What outlives the deadline is left as a crash would leave
 * it.
 */
export async function stopRelay(
  app: NestFastifyApplication,
  { STOP_DEADLINE_MS, STOP_LISTENER_AFTER_MS }: Pick<RelaySettings, 'STOP_DEADLINE_MS' | 'STOP_LISTENER_AFTER_MS'>,
): Promise<void> {
  const endMs = performance.now() + STOP_DEADLINE_MS;
  app.get(Stopping).begin();
  await Promise.all([
    app.get(LanesModule).end(STOP_DEADLINE_MS),
    app.get(WatchModule).end(STOP_DEADLINE_MS),
    app.get(TasksModule).end(STOP_DEADLINE_MS),
    endsWithin(app.get(RestoreModule).end(), STOP_DEADLINE_MS),
    delay(Math.min(STOP_LISTENER_AFTER_MS, STOP_DEADLINE_MS)),
  ]);
  await app.get(Links).drain(endMs - performance.now());
  await stopFastifyNestApp(app);
}
