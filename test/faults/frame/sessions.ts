import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * Local ports of a process's TCP connections, by which PostgreSQL knows its sessions. Null where the system does not say
 * (anything but Linux).
 */
export function sessionsOf(pid: number): number[] | null {
  if (process.platform !== 'linux') return null;
  const sockets = new Set<string>();
  for (const name of readdirSync(`/proc/${pid}/fd`)) {
    const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${name}`))?.[1];
    if (inode) sockets.add(inode);
  }
  const lines = readFileSync(`/proc/${pid}/net/tcp`, 'utf8').split('\n').slice(1);
  return lines.flatMap((line) => {
    const [, local, , , , , , , , inode] = line.trim().split(/\s+/);
    return inode && sockets.has(inode) ? [Number.parseInt(local?.split(':')[1] ?? '', 16)] : [];
  });
}

/** Descriptors come and go while they are listed. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // closed meanwhile
  }
}
