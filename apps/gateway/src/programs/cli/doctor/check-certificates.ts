import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect } from 'node:tls';
import { parseQueueUrl } from '#queue';
import { isError } from '#runtime';
import type { GatewaySettings } from '../../../settings.js';
import { judged, type Finding } from './finding.js';

const TLS_TIMEOUT_MS = 5_000;
const DAY_MS = 24 * 3_600_000;
/** PostgreSQL speaks TLS after this alone, and answers it with one letter: length, and a number in place of a version. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

export type WithCertificates = Pick<GatewaySettings, 'QUEUE_URL' | 'PUBLIC_URL' | 'LINK_PUBLIC_URL'> &
  Partial<Pick<GatewaySettings, 'DATABASE_URL' | 'DIRECT_DATABASE_URL' | 'READ_DATABASE_URL'>>;

/** Where a certificate is shown, and what is to be done when it ends. */
interface Place {
  name: string;
  host: string;
  port: number;
  isPostgres: boolean;
  unread: string;
  advice: string;
}

/** Those that callers see, and those of the servers that the programs call by TLS: who made one is the other side's to judge, when it ends is ours. */
export function checkCertificates(settings: WithCertificates): Promise<Finding[]> {
  const places = [
    ...[settings.PUBLIC_URL, settings.LINK_PUBLIC_URL].flatMap(publicPlaces),
    ...[settings.DATABASE_URL, settings.DIRECT_DATABASE_URL, settings.READ_DATABASE_URL].flatMap(databasePlaces),
    ...queuePlaces(settings.QUEUE_URL),
  ];
  // One server may stand in several settings.
  return Promise.all([...new Map(places.map((place) => [place.name, place])).values()].map(certificateFinding));
}

function publicPlaces(address: string): Place[] {
  const { protocol, hostname, port } = new URL(address);
  if (protocol !== 'https:' && protocol !== 'wss:') return [];
  return [
    {
      ...{ name: hostname, host: withoutBrackets(hostname), port: Number(port || 443), isPostgres: false },
      unread: `Can this machine reach ${address}? Callers need to.`,
      advice: 'Renew it at the proxy. No program of ours has to be started again.',
    },
  ];
}

function databasePlaces(address: string | undefined): Place[] {
  if (address === undefined) return [];
  const { hostname, port, searchParams } = new URL(address);
  const mode = searchParams.get('sslmode') ?? 'disable';
  if (mode === 'disable' || hostname === '') return [];
  return [serverPlace({ host: withoutBrackets(hostname), port: Number(port || 5432) }, 'PostgreSQL')];
}

function queuePlaces(address: string | undefined): Place[] {
  if (address === undefined) return [];
  const queue = parseQueueUrl(address);
  if (queue.kind !== 'server') return queue.isTls ? queue.hosts.map((host) => serverPlace(host, 'Redis')) : [];
  const { protocol, hostname, port } = new URL(queue.url);
  if (protocol !== 'rediss:') return [];
  return [serverPlace({ host: withoutBrackets(hostname), port: Number(port || 6379) }, 'Redis')];
}

function serverPlace({ host, port }: { host: string; port: number }, server: 'PostgreSQL' | 'Redis'): Place {
  return {
    ...{ name: `${server} at ${host}:${String(port)}`, host, port, isPostgres: server === 'PostgreSQL' },
    unread: `Does ${server} answer there, with TLS? The programs connect so.`,
    advice: `Renew it and restart ${server}: once it has ended, the programs make no new connection.`,
  };
}

async function certificateFinding(place: Place): Promise<Finding> {
  const check = `certificate of ${place.name}`;
  const until = await certificateEnd(place);
  if (isError(until)) return { check, state: 'warn', found: `not read: ${until.message}`, do: place.unread };
  const days = (until.getTime() - Date.now()) / DAY_MS;
  const found = `good until ${until.toISOString().slice(0, 10)}`;
  return judged({ check, found, advice: place.advice }, -days, { warn: -21, bad: -5 });
}

function certificateEnd({ host, port, isPostgres }: Place): Promise<Date | Error> {
  return new Promise((resolve) => {
    const socket = connectTcp({ host, port });
    const end = (result: Date | Error): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(result);
    };
    const timer = setTimeout(() => end(new Error('no answer in time')), TLS_TIMEOUT_MS);
    socket.on('error', end).once('close', () => end(new Error('the connection was closed')));
    if (!isPostgres) readEnd(socket, host, end);
    else {
      socket.write(SSL_REQUEST);
      socket.once('data', (answer) => {
        if (answer.toString() === 'S') readEnd(socket, host, end);
        else end(new Error('it has no TLS'));
      });
    }
  });
}

function readEnd(socket: Socket, host: string, end: (result: Date | Error) => void): void {
  // Nothing is sent or trusted: only the dates of what is shown are read.
  const secure = connect({ socket, rejectUnauthorized: false, ...(isIP(host) === 0 && { servername: host }) });
  secure.once('secureConnect', () => end(new Date(secure.getPeerCertificate().valid_to)));
  secure.once('error', end);
}

/** An address of IPv6 stands in brackets in a URL. */
function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
