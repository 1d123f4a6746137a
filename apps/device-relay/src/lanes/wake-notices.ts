import { ChannelListener, LANE_WAKE_CHANNEL } from '#database';
import type { Logger } from '#runtime';
import type { LaneRunner } from './lane-runner.js';
import type { RecentLanes } from './recent-lanes.js';
import type { PostgresSettledNotices } from './settled-notices.js';

/** A silent connection costs only wake-ups by notice: the gateway hears no answer and uses the queue. */
const HEARTBEAT_MS = 5_000;

/**
 * Wake-ups that come by NOTIFY instead of the queue, for lanes that this relay had last (docs/adr/0132-wake-by-notice.md). Each that
 * is taken is answered; what is not answered comes by the queue, to whichever relay has room.
 */
export class WakeNotices {
  /** Lanes woken so since start, for metrics. */
  woken = 0;
  private readonly listener: ChannelListener;
  private wake: ((deviceId: string) => Promise<void>) | null = null;

  constructor(
    { databaseUrl }: { databaseUrl: string },
    private readonly recent: RecentLanes,
    private readonly runner: Pick<LaneRunner, 'isInHand' | 'freePlaces'>,
    private readonly answers: Pick<PostgresSettledNotices, 'notifyTaken'>,
    logger: Logger,
  ) {
    const options = {
      ...{ databaseUrl, applicationName: 'device-relay-listen', channel: LANE_WAKE_CHANNEL, heartbeatMs: HEARTBEAT_MS },
      onNotice: (deviceIds: string) => this.takeThose(deviceIds.split(',')),
      onListening: () => undefined,
    };
    this.listener = new ChannelListener(options, logger);
  }

  start(wake: (deviceId: string) => Promise<void>): void {
    this.wake = wake;
    this.listener.start();
  }

  /** From now on nothing is taken, and so nothing answered. */
  async stop(): Promise<void> {
    this.wake = null;
    await this.listener.stop();
  }

  /** The lane was woken by the queue: from now on gateways may wake it by notice. */
  announce(deviceId: string): void {
    if (this.wake !== null) this.answers.notifyTaken(deviceId);
  }

  /** As many as there is room for; the others are left to the queue, and so to any relay. */
  private takeThose(deviceIds: readonly string[]): void {
    let room = this.runner.freePlaces;
    for (const deviceId of deviceIds) {
      if (this.wake === null || !this.recent.has(deviceId)) continue;
      if (!this.runner.isInHand(deviceId) && room-- <= 0) continue;
      this.woken += 1;
      void this.wake(deviceId);
      this.answers.notifyTaken(deviceId);
    }
  }
}
