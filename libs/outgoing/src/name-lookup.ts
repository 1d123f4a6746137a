import { ADDRCONFIG, type LookupAddress, type LookupOptions } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** How names become addresses: by name servers, unless given. */
export type NameLookup = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: Error | null, found: LookupAddress[]) => void,
) => void;

export interface NameServers {
  /** `address:port`; default: those of the system. */
  servers?: readonly string[];
  hostsFile?: string;
  /** Its `search` lines; the name servers in it are read by the resolver. */
  resolverFile?: string;
  /** A slow name server must not hold a request for long. */
  deadlineMs?: number;
}

const DEADLINE_MS = 3_000;
const FIRST_TRY_MS = 1_000;
/** There is no such name, or no address under it: it may be one of the system's own domains. */
const NO_SUCH_NAME: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);
const LINK_LOCAL = /^fe[89ab]/i;

/**
 * Looks up names that other parties chose. The system's way (getaddrinfo) holds a thread of the process's few for as long as a
 * name server is silent, and cannot be given up: some such names would hold up the database's connections too. So the hosts file
 * is read and the name servers are asked here, on sockets, with a deadline. A resolver for each name: giving it up ends its
 * questions alone, and a changed resolv.conf counts at once.
 */
export function nameLookup(names: NameServers = {}): NameLookup {
  return (hostname, options, callback) => {
    addressesOf(hostname.toLowerCase().replace(/\.$/, ''), options, names).then(
      (found) => callback(null, found),
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), []),
    );
  };
}

async function addressesOf(name: string, options: LookupOptions, names: NameServers): Promise<LookupAddress[]> {
  const { hostsFile = '/etc/hosts', resolverFile = '/etc/resolv.conf', servers, deadlineMs = DEADLINE_MS } = names;
  const families = familiesOf(options);
  const own = inHosts(readIfThere(hostsFile), name);
  if (own.length > 0) return own.filter(({ family }) => families.includes(family));
  const resolver = new Resolver({ timeout: FIRST_TRY_MS, tries: 2 });
  if (servers) resolver.setServers(servers);
  const deadline = new AbortController();
  const timer = setTimeout(() => {
    deadline.abort();
    resolver.cancel();
  }, deadlineMs);
  try {
    const domains = searchedIn(readIfThere(resolverFile));
    let answer = await ask(resolver, name, families);
    for (const domain of domains) {
      if (answer.kind === 'found' || deadline.signal.aborted || !NO_SUCH_NAME.has(answer.error.code ?? '')) break;
      answer = await ask(resolver, `${name}.${domain}`, families);
    }
    if (answer.kind === 'nothing') throw answer.error;
    return answer.addresses;
  } finally {
    clearTimeout(timer);
  }
}

type Answer = { kind: 'found'; addresses: LookupAddress[] } | { kind: 'nothing'; error: Error & { code?: string } };

/** One of the families is enough: many name servers know nothing of IPv6, and some do not even say so. */
async function ask(resolver: Resolver, name: string, families: readonly number[]): Promise<Answer> {
  const answers = await Promise.allSettled(
    families.map(async (family) => {
      const addresses = await (family === 4 ? resolver.resolve4(name) : resolver.resolve6(name));
      return addresses.map((address) => ({ address, family }));
    }),
  );
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > 0) return { kind: 'found', addresses };
  const errors = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as Error] : []));
  // What may still be there weighs more than what is not.
  const error = errors.find(({ code }: Error & { code?: string }) => !NO_SUCH_NAME.has(code ?? '')) ?? errors[0];
  return { kind: 'nothing', error: error ?? new Error('the name has no address') };
}

/** ADDRCONFIG: no address of IPv6 on a host without one. A connection to it would only take the place of one that works. */
function familiesOf({ family, hints = 0 }: LookupOptions): readonly number[] {
  if (family === 4 || family === 'IPv4') return [4];
  if (family === 6 || family === 'IPv6') return [6];
  return (hints & ADDRCONFIG) === 0 || hasIpv6() ? [4, 6] : [4];
}

function hasIpv6(): boolean {
  const addresses = Object.values(networkInterfaces()).flatMap((of) => of ?? []);
  return addresses.some(({ family, internal, address }) => family === 'IPv6' && !internal && !LINK_LOCAL.test(address));
}

function inHosts(text: string, name: string): LookupAddress[] {
  const found = linesOf(text).flatMap(([address = '', ...names]) =>
    isIP(address) !== 0 && names.some((known) => known.toLowerCase() === name)
      ? [{ address, family: isIP(address) }]
      : [],
  );
  // RFC 6761: never a question to a name server.
  if (found.length === 0 && (name === 'localhost' || name.endsWith('.localhost')))
    return [{ address: '127.0.0.1', family: 4 }];
  return found;
}

/** The last line counts. */
function searchedIn(text: string): readonly string[] {
  const [, ...domains] = linesOf(text).findLast(([word]) => word === 'search' || word === 'domain') ?? [];
  return domains.filter((domain) => domain !== '.').map((domain) => domain.replace(/\.$/, ''));
}

function linesOf(text: string): string[][] {
  return text.split('\n').map((line) => (line.split(/[#;]/, 1)[0] ?? '').trim().split(/\s+/));
}

/** Other systems have no such file. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
