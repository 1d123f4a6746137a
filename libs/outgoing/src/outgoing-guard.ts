import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { CidrSet, parseCidr, type Cidr } from './cidr.js';
import { nameLookup, type NameLookup } from './name-lookup.js';

const MAX_URL_LENGTH = 2_048;

/**
 * Special-purpose networks (IANA registries of RFC 6890 and its successors): loopback, private, link-local with the cloud's
 * metadata address, shared, documentation, benchmark, relays, multicast, reserved. 6to4 and Teredo carry an IPv4 address of
 * the sender's choice, `64:ff9b:1::/48` is a network's own NAT64.
 */
const SPECIAL = setOf([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16', '192.175.48.0/24'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ...['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'],
]);
/** All of IPv4, and what IPv6 has handed out as global unicast: everything else there is special by itself. */
const UNICAST = setOf(['0.0.0.0/1', '128.0.0.0/1', '2000::/3']);

/** Nothing was sent: the address, or one of those that its name leads to, must not be called. */
export class OutgoingRefused extends Error {
  override readonly name = 'OutgoingRefused';
}

export type UrlVerdict =
  | { kind: 'allowed'; url: URL }
  /** Not a URL that we would call, whatever it leads to. */
  | { kind: 'malformed'; reason: string }
  | { kind: 'unresolved'; reason: string }
  | { kind: 'refused'; reason: string };

/**
 * Which addresses a program may call for a client that named a URL. A name is resolved once per connection, every address
 * that it leads to must be allowed, and the connection goes to one of these: a name that moves between check and
 * connection gains nothing (`lookupFor`). Literals never reach a lookup and are asked for beforehand (`literalFault`).
 */
export class OutgoingGuard {
  private readonly listed: CidrSet;

  private constructor(
    /** The setting that widens the rule, for messages. */
    private readonly setting: string,
    listed: readonly Cidr[],
    private readonly publicToo: boolean,
    private readonly lookup: NameLookup,
  ) {
    this.listed = new CidrSet(listed);
  }

  /** Registers: the networks listed and nothing else; http and https. */
  static forDevices(listed: readonly Cidr[], lookup: NameLookup = nameLookup()): OutgoingGuard {
    return new OutgoingGuard('DEVICE_ALLOWED_CIDRS', listed, false, lookup);
  }

  /** Receivers of webhooks: https to public addresses; the networks listed also by http. */
  static forWebhooks(listed: readonly Cidr[], lookup: NameLookup = nameLookup()): OutgoingGuard {
    return new OutgoingGuard('WEBHOOK_ALLOWED_CIDRS', listed, true, lookup);
  }

  /** Payment providers: as webhooks, with a list of their own. */
  static forProviders(listed: readonly Cidr[], lookup: NameLookup = nameLookup()): OutgoingGuard {
    return new OutgoingGuard('PROVIDER_ALLOWED_CIDRS', listed, true, lookup);
  }

  /** Mail servers and message providers: as webhooks, with a list of their own. */
  static forMessages(listed: readonly Cidr[], lookup: NameLookup = nameLookup()): OutgoingGuard {
    return new OutgoingGuard('MESSAGE_ALLOWED_CIDRS', listed, true, lookup);
  }

  /** The networks that a setting lists, and nothing else. */
  static forListed(setting: string, listed: readonly Cidr[], lookup: NameLookup = nameLookup()): OutgoingGuard {
    return new OutgoingGuard(setting, listed, false, lookup);
  }

  /** Reads a URL and asks for every address behind it. For answering the person who enters it; a call is checked anew. */
  async check(text: string): Promise<UrlVerdict> {
    const reading = readOutgoingUrl(text);
    if (reading.kind === 'malformed') return reading;
    const { url } = reading;
    const literal = literalOf(url);
    if (literal !== null) {
      const reason = this.fault(literal, isSecure(url));
      return reason === null ? reading : { kind: 'refused', reason };
    }
    const found = await this.resolve(url.hostname);
    if (found === null) return { kind: 'unresolved', reason: 'the name does not resolve' };
    const reason = this.firstFault(found, isSecure(url));
    return reason === null ? reading : { kind: 'refused', reason };
  }

  /** Why a URL with an IP literal must not be called; null also when its host is a name (see `lookupFor`). */
  literalFault(url: URL): string | null {
    const literal = literalOf(url);
    return literal === null ? null : this.fault(literal, isSecure(url));
  }

  /** For `lookup` of node:net and node:http: answers only addresses that were checked, else an OutgoingRefused. */
  lookupFor({ protocol }: Pick<URL, 'protocol'>): LookupFunction {
    return (hostname, options, callback) => {
      this.lookup(hostname, { ...options, all: true }, (error, found) => {
        const [first] = error ? [] : found;
        if (!first) {
          callback(unresolved(error), '', 0);
          return;
        }
        const reason = this.firstFault(found, protocol === 'https:');
        if (reason !== null) callback(new OutgoingRefused(reason), '', 0);
        else if (options.all === true) callback(null, found);
        else callback(null, first.address, first.family);
      });
    };
  }

  private resolve(hostname: string): Promise<LookupAddress[] | null> {
    return new Promise((done) => {
      this.lookup(hostname, { all: true }, (error, found) => done(error || found.length === 0 ? null : found));
    });
  }

  private firstFault(found: readonly LookupAddress[], secure: boolean): string | null {
    for (const { address } of found) {
      const reason = this.fault(address, secure);
      if (reason !== null) return reason.replace('the address is', 'the name leads');
    }
    return null;
  }

  private fault(address: string, secure: boolean): string | null {
    if (this.listed.contains(address)) return null;
    if (!this.publicToo) return `the address is outside ${this.setting}`;
    if (!isPublicUnicast(address)) return `the address is outside the public networks and ${this.setting}`;
    return secure ? null : `only https:// may be called outside ${this.setting}`;
  }
}

/** Whether the address is a public one of a single host. An IPv4 address within an IPv6 one is judged as what it leads to. */
export function isPublicUnicast(address: string): boolean {
  return UNICAST.contains(address) && !SPECIAL.contains(address);
}

/** A URL that may be called at all: http or https, no credentials, no fragment. */
export function readOutgoingUrl(text: string): { kind: 'allowed'; url: URL } | { kind: 'malformed'; reason: string } {
  if (text.length > MAX_URL_LENGTH) return { kind: 'malformed', reason: 'must not be longer than 2048 characters' };
  if (!URL.canParse(text)) return { kind: 'malformed', reason: 'must be an absolute URL' };
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return { kind: 'malformed', reason: 'must begin with http:// or https://' };
  }
  if (url.username !== '' || url.password !== '') return { kind: 'malformed', reason: 'must not hold credentials' };
  // Also an empty one: `#` alone leaves the hash empty.
  if (text.includes('#')) return { kind: 'malformed', reason: 'must not have a fragment' };
  return { kind: 'allowed', url };
}

/** The host as an address, when it is written as one: URL has brought octal, hex, short and one-number forms to the usual. */
function literalOf({ hostname }: URL): string | null {
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? null : host;
}

function isSecure({ protocol }: URL): boolean {
  return protocol === 'https:';
}

function unresolved(cause: Error | null): Error {
  // Without a code of its own: the reason is read by people.
  return new Error('the name does not resolve', { cause });
}

function setOf(networks: readonly string[]): CidrSet {
  return new CidrSet(
    networks.map((text) => {
      const parse = parseCidr(text);
      if (parse.kind === 'invalid') throw new Error(`${text}: ${parse.reason}`);
      return parse.cidr;
    }),
  );
}
