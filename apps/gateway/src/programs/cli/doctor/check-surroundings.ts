import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { connect } from 'node:tls';
import { probeQueue } from '#queue';
import { isError } from '#runtime';
import type { GatewaySettings } from '../../../settings.js';
import { judged, well, type Finding } from './finding.js';

const TLS_TIMEOUT_MS = 5_000;
const DAY_MS = 24 * 3_600_000;

type Surroundings = Pick<
  GatewaySettings,
  'QUEUE_URL' | 'PUBLIC_URL' | 'LINK_PUBLIC_URL' | 'SCRATCH_DIR' | 'AUDIT_HEAD_FILE'
>;

/** What is neither this program nor its database: the queue, certificates, disks. */
export async function checkSurroundings(settings: Surroundings): Promise<Finding[]> {
  const folders = [
    settings.SCRATCH_DIR ?? tmpdir(),
    ...(settings.AUDIT_HEAD_FILE ? [dirname(settings.AUDIT_HEAD_FILE)] : []),
  ];
  const findings = await Promise.all([
    queueFinding(settings.QUEUE_URL ?? null),
    ...[settings.PUBLIC_URL, settings.LINK_PUBLIC_URL].map(certificateFinding),
    ...[...new Set(folders)].map(diskFinding),
  ]);
  return findings.flat();
}

async function queueFinding(url: string | null): Promise<Finding[]> {
  if (url === null) return [well('queue', 'on the database')];
  const queue = await probeQueue(url);
  if (queue.kind === 'down') {
    const advice = 'Receipts go out all the same, two to three seconds later. Start Redis, or check QUEUE_URL.';
    return [{ check: 'queue', state: 'warn', found: `no answer: ${queue.reason}`, do: advice }];
  }
  const { policy, appendOnly } = queue;
  return [
    well('queue', 'answers'),
    ['noeviction', 'unknown'].includes(policy)
      ? well('queue eviction', policy)
      : {
          check: 'queue eviction',
          state: 'bad',
          found: policy,
          do: 'Wake-ups are thrown out when memory ends: set maxmemory-policy noeviction.',
        },
    ['yes', 'unknown'].includes(appendOnly)
      ? well('queue on disk', `appendonly ${appendOnly}`)
      : {
          check: 'queue on disk',
          state: 'warn',
          found: `appendonly ${appendOnly}`,
          do: 'A restart forgets wake-ups; the sweeper finds them later. Set appendonly yes.',
        },
  ];
}

/** As a caller sees it: who made it is the caller's to judge, when it ends is ours. */
async function certificateFinding(address: string): Promise<Finding[]> {
  const { protocol, hostname, port } = new URL(address);
  const check = `certificate of ${hostname}`;
  if (protocol !== 'https:' && protocol !== 'wss:') return [];
  const until = await certificateEnd(hostname, Number(port || 443));
  if (isError(until)) {
    return [
      {
        check,
        state: 'warn',
        found: `not read: ${until.message}`,
        do: `Can this machine reach ${address}? Callers need to.`,
      },
    ];
  }
  const days = (until.getTime() - Date.now()) / DAY_MS;
  const found = `good until ${until.toISOString().slice(0, 10)}`;
  const advice = 'Renew it at the proxy. No program of ours has to be started again.';
  return [judged({ check, found, advice }, -days, { warn: -21, bad: -5 })];
}

function certificateEnd(host: string, port: number): Promise<Date | Error> {
  return new Promise((resolve) => {
    // Nothing is sent or trusted: only the dates of what is shown are read.
    const socket = connect({ host, port, servername: host, rejectUnauthorized: false, timeout: TLS_TIMEOUT_MS });
    const end = (result: Date | Error): void => {
      socket.destroy();
      resolve(result);
    };
    socket.once('secureConnect', () => end(new Date(socket.getPeerCertificate().valid_to)));
    socket.once('timeout', () => end(new Error('no answer in time')));
    socket.once('error', (error: Error) => end(error));
  });
}

async function diskFinding(folder: string): Promise<Finding[]> {
  const check = `disk of ${folder}`;
  if (!existsSync(folder))
    return [{ check, state: 'bad', found: 'it does not exist', do: 'Make the folder, writable for the program.' }];
  const { bavail, blocks, bsize } = await statfs(folder);
  const used = 1 - bavail / blocks;
  const found = `${((bavail * bsize) / 2 ** 30).toFixed(1)} GiB free, ${(used * 100).toFixed(0)} % used`;
  return [
    judged({ check, found, advice: 'Make room: files of merchants and the audit trail are written there.' }, used, {
      warn: 0.85,
      bad: 0.95,
    }),
  ];
}
