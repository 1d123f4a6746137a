import { execFileSync } from 'node:child_process';
import { benchAccept } from './accept.js';
import { benchAcceptMany } from './accept-many.js';
import { benchArchive } from './archive.js';
import { benchAtRest } from './at-rest.js';
import { benchAuth } from './auth.js';
import { benchCatalog } from './catalog.js';
import { benchConsole } from './console.js';
import { benchCost } from './cost.js';
import { benchDispatch } from './dispatch.js';
import { benchAttemptPartitions } from './attempt-partitions.js';
import { benchCallPartitions } from './call-partitions.js';
import { benchEventPartitions } from './event-partitions.js';
import { benchFleet } from './fleet.js';
import { benchHealth } from './health.js';
import { benchFloods } from './floods/floods.js';
import { benchHostile } from './hostile.js';
import { benchLane } from './lane.js';
import { benchLaneLocks } from './lane-locks.js';
import { benchLatency } from './latency.js';
import { benchReceiptPartitions } from './receipt-partitions.js';
import { benchReceipts } from './receipts.js';
import { benchPayments } from './payments.js';
import { benchPlanning } from './planning.js';
import { benchRegister } from './register.js';
import { benchRights } from './rights.js';
import { benchRowSecurity } from './row-security.js';
import { report, type Figure } from './report.js';
import { benchScale } from './scale.js';
import { benchSoak } from './soak/soak.js';
import { benchTraces } from './traces.js';
import { benchVacuum } from './vacuum.js';
import { benchMessages } from './messages.js';
import { benchWal } from './wal.js';
import { benchWorkers } from './workers.js';

/**
 * npm run bench [-- accept|latency|dispatch …] [--quick]: ratios measured in one run, printed as Markdown for
 * docs/performance.md. Started by scripts/bench.mjs, which brings the database.
 */
const BENCHES: Readonly<Record<string, (quick: boolean) => Promise<Figure[]>>> = {
  accept: async (quick) => [
    ...(await benchAccept(quick ? { rounds: 3, seconds: 2 } : { rounds: 5, seconds: 6 })),
    ...(await benchAcceptMany(
      quick
        ? { rounds: 3, seconds: 3, merchants: 30, cashiers: 1_000 }
        : { rounds: 5, seconds: 10, merchants: 300, cashiers: 10_000 },
    )),
  ],
  archive: (quick) =>
    benchArchive(
      quick ? { rows: 200_000, rounds: 2, leaving: 2_000 } : { rows: 1_000_000, rounds: 5, leaving: 10_000 },
    ),
  latency: (quick) => benchLatency(quick ? { rounds: 3, sales: 100 } : { rounds: 5, sales: 400 }),
  dispatch: (quick) => benchDispatch(quick ? { rounds: 1, receipts: 100 } : { rounds: 5, receipts: 1_000 }),
  register: (quick) =>
    benchRegister(quick ? { rounds: 3, seconds: 2, documents: 4_000 } : { rounds: 5, seconds: 6, documents: 100_000 }),
  lane: (quick) =>
    benchLane(
      quick
        ? { rounds: 1, receipts: 100, rows: 20_000, devices: 1_000, minutes: 0.2 }
        : { rounds: 5, receipts: 1_000, rows: 1_000_000, devices: 10_000, minutes: 10 },
    ),
  locks: (quick) => benchLaneLocks(quick ? { rounds: 2, seconds: 1 } : { rounds: 5, seconds: 3 }),
  auth: (quick) => benchAuth(quick ? { rounds: 3, requests: 3_000 } : { rounds: 5, requests: 12_000 }),
  floods: (quick) =>
    benchFloods(quick ? { rounds: 2, calls: 10, receipts: 5_000 } : { rounds: 5, calls: 40, receipts: 100_000 }),
  hostile: (quick) => benchHostile({ times: quick ? 1 : 5 }),
  receipts: (quick) => benchReceipts(quick ? { rows: 50_000, requests: 100 } : { rows: 1_000_000, requests: 500 }),
  catalog: (quick) =>
    benchCatalog(
      quick
        ? { products: 20_000, samples: 200, entries: 20_000, accept: { rounds: 3, seconds: 2 } }
        : { products: 1_000_000, samples: 2_000, entries: 300_000, accept: { rounds: 15, seconds: 2 } },
    ),
  fleet: (quick) =>
    benchFleet(
      quick
        ? {
            link: { rounds: 3, sales: 100, links: 1_000 },
            health: { devices: 500, of: 2_500, seconds: 10 },
            failovers: 3,
          }
        : {
            link: { rounds: 5, sales: 400, links: 5_000 },
            health: { devices: 2_000, of: 10_000, seconds: 40 },
            failovers: 10,
          },
    ),
  health: (quick) => {
    const against = process.env['BENCH_AGAINST'];
    const load = quick ? { devices: 500, of: 2_500, seconds: 10 } : { devices: 2_000, of: 10_000, seconds: 40 };
    return benchHealth({ ...load, ...(against !== undefined && { against }) });
  },
  cost: (quick) => {
    const against = process.env['BENCH_AGAINST'];
    const load = quick ? { rounds: 3, receipts: 240, idleSeconds: 1 } : { rounds: 5, receipts: 2_000, idleSeconds: 5 };
    return benchCost({ ...load, ...(against !== undefined && { against }) });
  },
  'at-rest': (quick) => {
    const against = process.env['BENCH_AGAINST'];
    const load = quick
      ? { receipts: 100, quietSeconds: 5, seconds: 10 }
      : { receipts: 1_000, quietSeconds: 60, seconds: 60 };
    return benchAtRest({ ...load, ...(against !== undefined && { against }) });
  },
  planning: (quick) => benchPlanning(quick ? { merchants: 1_000, seconds: 10 } : { merchants: 10_000, seconds: 40 }),
  rights: (quick) => benchRights(quick ? { rounds: 3, receipts: 500 } : { rounds: 21, receipts: 2_000 }),
  'row-security': (quick) => benchRowSecurity(quick ? { rounds: 5, requests: 300 } : { rounds: 15, requests: 1_000 }),
  traces: (quick) => benchTraces(quick ? { pairs: 1, rounds: 9, seconds: 1 } : { pairs: 4, rounds: 11, seconds: 1 }),
  // BENCH_ROWS says other sizes, as 1000000,5000000: twenty million receipts take 57 GB.
  scale: (quick) => {
    const sizes = process.env['BENCH_ROWS']?.split(',').map(Number);
    return benchScale(
      quick ? { sizes: sizes ?? [20_000, 100_000], calls: 50 } : { sizes: sizes ?? [1e6, 1e7, 2e7], calls: 400 },
    );
  },
  console: (quick) =>
    benchConsole(quick ? { sizes: [5_000, 50_000], rounds: 3 } : { sizes: [10_000, 1_000_000], rounds: 9 }),
  'event-partitions': (quick) =>
    benchEventPartitions(
      quick
        ? { rounds: 3, merchants: 1_000, eventsOfMerchant: 40, calls: 500 }
        : { rounds: 9, merchants: 10_000, eventsOfMerchant: 40, calls: 2_000 },
    ),
  'call-partitions': (quick) =>
    benchCallPartitions(
      quick ? { rounds: 3, perMonth: 2_000, calls: 1_000 } : { rounds: 9, perMonth: 20_000, calls: 1_000 },
    ),
  'receipt-partitions': (quick) =>
    benchReceiptPartitions(
      quick ? { rounds: 1, perHalf: 200, calls: 100 } : { rounds: 5, perHalf: 2_000, calls: 1_000 },
    ),
  'attempt-partitions': (quick) =>
    benchAttemptPartitions(
      quick ? { rounds: 3, perMonth: 2_000, calls: 800 } : { rounds: 9, perMonth: 20_000, calls: 1_600 },
    ),
  vacuum: (quick) => benchVacuum({ receipts: quick ? 20_000 : 150_000 }),
  messages: (quick) => benchMessages(quick ? { rounds: 3, sales: 100 } : { rounds: 5, sales: 400 }),
  wal: (quick) => benchWal({ receipts: quick ? 300 : 3_000 }),
  workers: (quick) => benchWorkers(quick ? { rounds: 2, seconds: 1 } : { rounds: 5, seconds: 2 }),
  soak: (quick) =>
    benchSoak({
      minutes: Number(process.env['SOAK_MINUTES'] ?? (quick ? 6 : 60)),
      secondsPerStrike: quick ? 20 : 60,
      seed: Number(process.env['SOAK_SEED'] ?? Math.floor(Math.random() * 1_000_000)),
    }),
  payments: (quick) =>
    benchPayments(quick ? { rounds: 1, sales: 60, transactions: 200 } : { rounds: 5, sales: 300, transactions: 3_000 }),
};
/** `npm run bench` alone is the main job; the others are asked for by name. */
const MAIN_JOB = ['accept', 'latency', 'dispatch'];

const args = process.argv.slice(2);
const quick = args.includes('--quick');
const named = args.filter((arg) => !arg.startsWith('--'));
const unknown = named.filter((name) => !Object.hasOwn(BENCHES, name));
if (unknown.length > 0)
  throw new Error(`No such bench: ${unknown.join(', ')}. There are: ${Object.keys(BENCHES).join(', ')}.`);

const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
for (const [name, bench] of Object.entries(BENCHES)) {
  if (!(named.length > 0 ? named : MAIN_JOB).includes(name)) continue;
  process.stdout.write(`${report(`${name}${quick ? ' (quick)' : ''}`, await bench(quick), commit)}\n`);
}
process.exit(process.exitCode ?? 0);
