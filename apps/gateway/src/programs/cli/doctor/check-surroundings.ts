import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { probeQueue } from '#queue';
import type { GatewaySettings } from '../../../settings.js';
import { checkCertificates, type WithCertificates } from './check-certificates.js';
import { judged, well, type Finding } from './finding.js';

type Surroundings = Pick<GatewaySettings, 'SCRATCH_DIR' | 'AUDIT_HEAD_FILE'> & WithCertificates;

/** What is neither this program nor its database: the queue, certificates, disks. */
export async function checkSurroundings(settings: Surroundings): Promise<Finding[]> {
  const folders = [
    settings.SCRATCH_DIR ?? tmpdir(),
    ...(settings.AUDIT_HEAD_FILE ? [dirname(settings.AUDIT_HEAD_FILE)] : []),
  ];
  const findings = await Promise.all([
    queueFinding(settings.QUEUE_URL ?? null),
    checkCertificates(settings),
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
