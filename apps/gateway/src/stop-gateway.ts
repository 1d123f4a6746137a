import { setTimeout as delay } from 'node:timers/promises';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { stopFastifyNestApp } from '#http';
import { Stopping } from '#runtime';
import { EventStreams } from './notify/events/event-streams.js';
import { DeviceTasks } from './fleet/devices/device-tasks.js';
import { SettledReceipts } from './receipts/settled-receipts.js';
import { ExportReceipts } from './receipts/search/export-receipts.js';
import type { GatewaySettings } from './settings.js';

/** For the last answers, when callers who wait are answered with what is known so far. */
const ANSWER_MS = 2_000;

/**
 * Not ready from now on; the listener stays open until balancers have noticed; then requests in hand end. Callers who wait for
 * their register get its answer as long as the deadline leaves time for it, after that the receipt's present state.
 */
export async function stopGateway(
  app: NestFastifyApplication,
  { STOP_DEADLINE_MS, STOP_LISTENER_AFTER_MS }: Pick<GatewaySettings, 'STOP_DEADLINE_MS' | 'STOP_LISTENER_AFTER_MS'>,
): Promise<void> {
  app.get(Stopping).begin();
  const answerAll = (): void => {
    app.get(SettledReceipts).releaseAll();
    app.get(DeviceTasks).releaseAll();
    app.get(ExportReceipts).abortAll();
  };
  const timer = setTimeout(answerAll, Math.max(0, STOP_DEADLINE_MS - ANSWER_MS));
  await delay(Math.min(STOP_LISTENER_AFTER_MS, STOP_DEADLINE_MS));
  // They have no end of their own: their clients go on elsewhere, from their cursor.
  app.get(EventStreams).endAll();
  await stopFastifyNestApp(app);
  clearTimeout(timer);
}
