import { BlockList, isIP, isIPv6 } from 'node:net';

export type IpFamily = 'ipv4' | 'ipv6';

/** One network, `text` in canonical form, e.g. `10.0.0.0/8`. */
export interface Cidr {
  address: string;
  prefix: number;
  family: IpFamily;
  text: string;
}

export type CidrParse = { kind: 'ok'; cidr: Cidr } | { kind: 'invalid'; reason: string };

/**
 * Reads `10.0.0.0/8`, `fd00::/8` or a bare address. Refuses what administrators get wrong and libraries accept:
 * octal or short IPv4, zone ids, bits set outside the mask, `/0`, and IPv6 networks that hold or lie within the IPv4-mapped
 * ones (one such range once trusted the whole internet, CVE-2026-92395).
 */
export function parseCidr(text: string): CidrParse {
  const invalid = (reason: string): CidrParse => ({ kind: 'invalid', reason });
  const [address = '', prefixText, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0 || address.includes('%')) return invalid('not an IP network');
  const bits = version === 4 ? 32 : 128;
  if (prefixText !== undefined && !/^(0|[1-9]\d{0,2})$/.test(prefixText)) return invalid('prefix is not a number');
  const prefix = prefixText === undefined ? bits : Number(prefixText);
  if (prefix > bits) return invalid(`prefix is longer than ${String(bits)}`);
  if (prefix === 0) return invalid('/0 would allow every address');
  const value = addressBits(address);
  if (version === 6 && value >> 32n === MAPPED) return invalid('write IPv4-mapped networks as IPv4');
  if ((value & ((1n << BigInt(bits - prefix)) - 1n)) !== 0n) return invalid('bits are set outside the prefix');
  if (version === 6 && (MAPPED << 32n) >> BigInt(bits - prefix) === value >> BigInt(bits - prefix)) {
    return invalid('it holds all of IPv4');
  }
  const family: IpFamily = version === 4 ? 'ipv4' : 'ipv6';
  const canonical = version === 4 ? address : canonicalIpv6(address);
  return { kind: 'ok', cidr: { address: canonical, prefix, family, text: `${canonical}/${String(prefix)}` } };
}

/**
 * What stands for a caller's address where callers are counted: IPv4 as it is (also when mapped into IPv6), of IPv6 the
 * first 64 bits, which one subscriber has to himself. Null: not an address.
 */
export function addressGroup(address: string): string | null {
  const version = isIP(address);
  if (version === 0) return null;
  if (version === 4) return address;
  const bits = addressBits(address.split('%', 1)[0] ?? '');
  return carriesIpv4(bits) ? dottedIpv4(bits) : `${(bits >> 64n).toString(16)}::/64`;
}

/**
 * A set of networks that answers whether an address lies within. Anything that is not an address is outside. An IPv4 address
 * within an IPv6 one (`::ffff:0:0/96`, and NAT64's `64:ff9b::/96`, RFC 6052) is judged as the IPv4 address that it leads to.
 */
export class CidrSet {
  private readonly networks = new BlockList();

  constructor(cidrs: readonly Cidr[]) {
    for (const { address, prefix, family } of cidrs) this.networks.addSubnet(address, prefix, family);
  }

  contains(address: string): boolean {
    const version = isIP(address);
    if (version === 0 || address.includes('%')) return false;
    if (version === 4) return this.networks.check(address, 'ipv4');
    const bits = addressBits(address);
    return carriesIpv4(bits) ? this.networks.check(dottedIpv4(bits), 'ipv4') : this.networks.check(address, 'ipv6');
  }
}

/** `::ffff:0:0/96` without its last 32 bits. */
const MAPPED = 0xffffn;
/** It, and `64:ff9b::/96`. */
const IPV4_CARRIERS: readonly bigint[] = [MAPPED, 0x0064ff9bn << 64n];

function carriesIpv4(bits: bigint): boolean {
  return IPV4_CARRIERS.includes(bits >> 32n);
}

function dottedIpv4(bits: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => String((bits >> shift) & 0xffn)).join('.');
}

/** RFC 5952, as the URL standard writes it. */
function canonicalIpv6(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}

function addressBits(address: string): bigint {
  if (!isIPv6(address)) return ipv4Bits(address);
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address);
  const hex = dotted ? `${dotted[1] ?? ''}${ipv4AsGroups(dotted[2] ?? '')}` : address;
  const [head = '', tail] = hex.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => '0');
  return [...left, ...zeros, ...right].reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}

function ipv4Bits(address: string): bigint {
  return address.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
}

function ipv4AsGroups(address: string): string {
  const bits = ipv4Bits(address);
  return `${(bits >> 16n).toString(16)}:${(bits & 0xffffn).toString(16)}`;
}
