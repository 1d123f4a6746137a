import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Debian's; .ci/run installs it. */
const EXIM = '/usr/sbin/exim4';
/** As whom it works when the tests are root's: exim itself gives up a configuration's rights then. */
const UNPRIVILEGED = 65_534;

export const HAS_FOREIGN_SERVER = existsSync(EXIM);

export interface ForeignLetter {
  /** As it was received, with the server's own lines above it. */
  raw: string;
  /** `esmtp`, or `esmtps` behind TLS. */
  protocol: string;
}

/** Local parts by which exim answers as a test wants it. */
export const FOREIGN = { greylisted: 'greylisted', missing: 'missing', refused: 'refused' } as const;

/**
 * Exim as Debian has it: a mail server that knows nothing of us. It works one process for each connection, without rights and with a queue
 * of its own, from which nothing is delivered.
 */
export class ForeignMailServer {
  private readonly processes = new Set<ReturnType<typeof spawn>>();
  private readonly sockets = new Set<Socket>();
  private constructor(
    private readonly server: Server,
    private readonly folder: string,
    readonly port: number,
  ) {}

  static async start({ key, cert }: { key: string; cert: string }): Promise<ForeignMailServer> {
    const folder = await mkdtemp(join(tmpdir(), 'exim-'));
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const self = new ForeignMailServer(server, folder, (server.address() as AddressInfo).port);
    await self.prepare(key, cert);
    server.on('connection', (socket) => self.serve(socket));
    return self;
  }

  /** From now on it takes what it has put off. */
  async stopGreylisting(): Promise<void> {
    await writeFile(join(this.folder, 'greylisting'), 'no');
  }

  async letters(): Promise<ForeignLetter[]> {
    const input = join(this.folder, 'spool', 'input');
    const names = (await readdir(input).catch(() => [])).filter((name) => name.endsWith('-H')).sort();
    return Promise.all(names.map(async (name) => letterOf(input, name.slice(0, -2))));
  }

  async stop(): Promise<void> {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    for (const child of this.processes) child.kill();
    await Promise.all([...this.processes].map(async (child) => child.exitCode ?? once(child, 'exit')));
    await rm(this.folder, { recursive: true, force: true });
  }

  private async prepare(key: string, cert: string): Promise<void> {
    const [uid, gid] = identity();
    const spool = join(this.folder, 'spool');
    await mkdir(spool);
    await writeFile(join(this.folder, 'key.pem'), key);
    await writeFile(join(this.folder, 'cert.pem'), cert);
    await writeFile(join(this.folder, 'greylisting'), 'yes');
    await writeFile(join(this.folder, 'conf'), configuration(this.folder, uid, gid));
    await chmod(this.folder, 0o755);
    if (process.getuid?.() === 0) await chown(spool, uid, gid);
  }

  private serve(socket: Socket): void {
    const [uid, gid] = identity();
    const own = process.getuid?.() === 0 ? { uid, gid } : {};
    const child = spawn(EXIM, ['-C', join(this.folder, 'conf'), '-bs'], { stdio: ['pipe', 'pipe', 'ignore'], ...own });
    this.processes.add(child);
    this.sockets.add(socket);
    child.once('exit', () => this.processes.delete(child));
    socket.once('close', () => {
      this.sockets.delete(socket);
      child.stdin?.destroy();
    });
    // Either end may go away in the middle of a word.
    socket.on('error', () => undefined);
    child.stdin?.on('error', () => undefined);
    if (child.stdin) socket.pipe(child.stdin);
    child.stdout?.pipe(socket);
  }
}

function identity(): [uid: number, gid: number] {
  const uid = process.getuid?.() ?? UNPRIVILEGED;
  return uid === 0 ? [UNPRIVILEGED, UNPRIVILEGED] : [uid, process.getgid?.() ?? UNPRIVILEGED];
}

function configuration(folder: string, uid: number, gid: number): string {
  return `
exim_user = ${uid}
exim_group = ${gid}
primary_hostname = foreign.example
spool_directory = ${folder}/spool
log_file_path = ${folder}/spool/%slog
tls_certificate = ${folder}/cert.pem
tls_privatekey = ${folder}/key.pem
tls_advertise_hosts = *
host_lookup =
rfc1413_hosts =
keep_environment =
queue_only = true
acl_smtp_rcpt = recipient
acl_smtp_data = letter
begin acl
recipient:
  defer local_parts = ${FOREIGN.greylisted}
        condition = \${if eq{\${readfile{${folder}/greylisting}}}{yes}}
        message = 4.7.1 Greylisted, please try again later
  deny  local_parts = ${FOREIGN.missing}
        message = 5.1.1 No such mailbox
  deny  local_parts = ${FOREIGN.refused}
        message = 5.7.1 Refused by policy
  accept
letter:
  accept
begin routers
begin transports
begin retry
`;
}

/** Exim's queue holds a letter in two files; each header line begins with its length and a letter. */
async function letterOf(input: string, id: string): Promise<ForeignLetter> {
  const [head, data] = await Promise.all(['H', 'D'].map((part) => readFile(join(input, `${id}-${part}`), 'utf8')));
  const protocol = /^-received_protocol local-(\w+)$/m.exec(head ?? '')?.[1] ?? '';
  const lines = (head ?? '').slice((head ?? '').indexOf('\n\n') + 2);
  const body = (data ?? '').slice((data ?? '').indexOf('\n') + 1);
  const raw = `${lines.replaceAll(/^\d{3}[A-Z* ] /gm, '')}\n${body}`.replaceAll(/\r?\n/g, '\r\n');
  return { raw, protocol };
}
