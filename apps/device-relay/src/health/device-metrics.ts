import { Prisma, type PrismaService } from '#database';
import { OFD_ALARM_HOURS, OFD_FUSE_HOURS, OFD_WARNING_HOURS } from '#fiscal-domain';
import { loggedReading, type Logger, type Metrics } from '#runtime';

/** A lane's length is counted no further than this. */
const MAX_COUNTED = 1_000;
/** Nor are unsent receipts. */
const MAX_UNSENT_COUNTED = 30_000;

interface DeviceRow {
  id: string;
  state: string;
  memory_left: number | null;
  fuse_left: number | null;
  shift_age: number | null;
  subscription_days: number | null;
  waiting: number;
  oldest_accepted: number | null;
}

interface FleetRow {
  warned: number;
  alarmed: number;
  devices: number;
  up: number;
}

/**
 * Registers that are of interest to who keeps the system running: known, not switched off, and real: what a sandbox forces upon its emulated
 * registers alarms no person. One that has never dialled in is none yet, unless receipts wait for it.
 */
const OF_THE_FLEET = Prisma.sql`
  d.deleted_at IS NULL AND d.registered_at IS NOT NULL AND d.state <> 'disabled' AND d.transport <> 'emulated'`;
const HAS_DIALLED_IN = Prisma.sql`(d.transport <> 'link' OR d.last_seen_at IS NOT NULL)`;

interface Reading {
  devices: DeviceRow[];
  fleet: FleetRow;
}

/**
 * Gauges of every device, by its id, and of what needs a person. Read from the database at each scrape: every relay shows
 * the whole fleet, so take `max by (device)`. Counts are bounded. At most `limit` devices, those that need attention first.
 * Left out, or NaN, while the database does not answer: a scrape must not fail with it, or the relay would pass for one that is gone.
 */
export class DeviceMetrics {
  private readonly reading;

  constructor(
    private readonly prisma: Pick<PrismaService, '$queryRaw'>,
    private readonly options: { limit: number },
    logger: Logger,
  ) {
    this.reading = loggedReading(() => this.readDatabase(), { logger, what: 'registers not read for metrics' });
  }

  observe(metrics: Metrics): void {
    const perDevice = (name: string, help: string, valueOf: (row: DeviceRow) => number | null): void => {
      metrics.gauge({ name, help, labels: ['device'], together: 'max' }, async (gauge) => {
        const devices = (await this.reading.get())?.devices ?? [];
        gauge.reset();
        for (const row of devices) {
          const value = valueOf(row);
          if (value !== null) gauge.set({ device: row.id }, value);
        }
      });
    };
    perDevice('device_up', '1 while the device can take receipts (online, degraded)', ({ state }) =>
      state === 'online' || state === 'degraded' ? 1 : 0,
    );
    perDevice('device_memory_left', 'Documents that still fit into the module unsent', (row) => row.memory_left);
    perDevice('device_fuse_left_seconds', 'Until the oldest unsent document blocks the module', (row) => row.fuse_left);
    perDevice('device_shift_age_seconds', 'Since the first document of the open shift', (row) => row.shift_age);
    perDevice('device_subscription_days_left', 'Until the subscription ends', (row) => row.subscription_days);
    perDevice('device_lane_length', 'Accepted receipts that wait, counted up to 1 000', ({ waiting }) => waiting);
    perDevice('device_oldest_accepted_seconds', 'Age of the oldest accepted receipt', (row) => row.oldest_accepted);
    metrics.gauge(
      { name: 'device_state', help: '1 for the state of each device', labels: ['device', 'state'], together: 'max' },
      async (gauge) => {
        const devices = (await this.reading.get())?.devices ?? [];
        gauge.reset();
        for (const { id, state } of devices) gauge.set({ device: id, state }, 1);
      },
    );
    this.observeFleet(metrics);
  }

  private observeFleet(metrics: Metrics): void {
    const ofFleet = (name: string, help: string, valueOf: (fleet: FleetRow) => number): void => {
      metrics.gauge({ name, help, together: 'max' }, async (gauge) => {
        const read = await this.reading.get();
        gauge.set(read ? valueOf(read.fleet) : Number.NaN);
      });
    };
    ofFleet(
      'receipts_ofd_warned',
      'Unsent receipts past 24 hours, counted up to 30 000; not of sandboxes',
      ({ warned }) => warned,
    );
    ofFleet(
      'receipts_ofd_alarmed',
      'Unsent receipts past 40 hours, counted up to 30 000; not of sandboxes',
      ({ alarmed }) => alarmed,
    );
    ofFleet('fleet_devices', 'Registers, whether or not they have metrics of their own', ({ devices }) => devices);
    ofFleet('fleet_devices_up', 'Registers of these that can take receipts (online, degraded)', ({ up }) => up);
  }

  private async readDatabase(): Promise<Reading> {
    const [devices, [fleet]] = await Promise.all([this.readDevices(), this.readFleet()]);
    return { devices, fleet: fleet ?? { warned: 0, alarmed: 0, devices: 0, up: 0 } };
  }

  private readDevices(): Promise<DeviceRow[]> {
    return this.prisma.$queryRaw<DeviceRow[]>`
      SELECT d.id, d.state::text,
             ((d.reading ->> 'maxUnsentReceipts')::float8 - (d.reading ->> 'unsentReceipts')::float8) AS memory_left,
             extract(epoch FROM (d.reading ->> 'oldestUnsentAt')::timestamptz + make_interval(hours => ${OFD_FUSE_HOURS}::int) - now())::float8 AS fuse_left,
             CASE WHEN s.shift ->> 'closedAt' IS NULL AND (s.shift ->> 'busySince' IS NOT NULL OR (s.shift ->> 'documents')::int > 0) THEN
               extract(epoch FROM now() - coalesce(s.shift ->> 'busySince', s.shift ->> 'openedAt')::timestamptz)::float8 END AS shift_age,
             extract(epoch FROM d.subscription_expires_at - now())::float8 / 86400 AS subscription_days,
             CASE WHEN d.oldest IS NULL THEN 0 ELSE lane_length(d.id, ${MAX_COUNTED}::int) END AS waiting,
             extract(epoch FROM now() - d.oldest)::float8 AS oldest_accepted
        FROM (SELECT d.*, w.created_at AS oldest FROM devices d LEFT JOIN waiting_lanes() w ON w.device_id = d.id
               WHERE ${OF_THE_FLEET} AND (${HAS_DIALLED_IN} OR w.created_at IS NOT NULL)
               ORDER BY d.state = 'online', w.created_at, d.id LIMIT ${this.options.limit}) AS d
       CROSS JOIN LATERAL (SELECT d.reading -> 'shift' AS shift) AS s`;
  }

  private readFleet(): Promise<FleetRow[]> {
    return this.prisma.$queryRaw<FleetRow[]>`
      SELECT count(*)::int AS devices, (count(*) FILTER (WHERE d.state IN ('online', 'degraded')))::int AS up,
             unsent_of_live(now() + make_interval(hours => ${OFD_FUSE_HOURS - OFD_WARNING_HOURS}::int), ${MAX_UNSENT_COUNTED}::int) AS warned,
             unsent_of_live(now() + make_interval(hours => ${OFD_FUSE_HOURS - OFD_ALARM_HOURS}::int), ${MAX_UNSENT_COUNTED}::int) AS alarmed
        FROM devices d WHERE ${OF_THE_FLEET} AND ${HAS_DIALLED_IN}`;
  }
}
