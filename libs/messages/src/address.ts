import { domainToASCII } from 'node:url';
import type { MessageChannel } from './port.js';

export type AddressReading = { kind: 'ok'; address: string } | { kind: 'invalid'; reason: string };

const MAX_EMAIL = 254;
const MAX_LOCAL_PART = 64;
/** RFC 5321 dot-atom. Quoted parts, comments and literals exist on paper; in a header they are a way to inject one. */
const LOCAL_PART = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const DOMAIN = /^[\p{L}\p{N}\p{M}.-]{1,253}$/u;
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const TOP_LEVEL = /^([a-z]{2,63}|xn--[a-z0-9-]{1,59})$/;
const PHONE = /^\+?(998\d{9})$/;
const CHAT = /^-?[1-9]\d{0,15}$/;

/** An address that mail can be sent to, its domain in ASCII and in lower case. */
export function readEmail(text: string): AddressReading {
  const at = text.lastIndexOf('@');
  const [local, domain] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || text.length > MAX_EMAIL) return { kind: 'invalid', reason: 'must be an e-mail address' };
  if (local.length > MAX_LOCAL_PART || !LOCAL_PART.test(local)) {
    return { kind: 'invalid', reason: 'must be an e-mail address without spaces, quotes and comments before the @' };
  }
  // URL drops line breaks and tabs within a name: they are refused before.
  if (!DOMAIN.test(domain))
    return { kind: 'invalid', reason: 'must be an e-mail address with the name of a domain after the @' };
  // A literal, an underscore or a colon leaves nothing, or no name of a host.
  const ascii = domainToASCII(domain).toLowerCase();
  const labels = ascii.split('.');
  const isName = labels.length >= 2 && ascii.length <= 253 && labels.every((label) => LABEL.test(label));
  if (!isName || !TOP_LEVEL.test(labels.at(-1) ?? '')) {
    return { kind: 'invalid', reason: 'must be an e-mail address with the name of a domain after the @' };
  }
  const address = `${local}@${ascii}`;
  return address.length <= MAX_EMAIL ? { kind: 'ok', address } : { kind: 'invalid', reason: 'is too long' };
}

/** A mobile number of Uzbekistan, as the providers take it. */
export function readPhone(text: string): AddressReading {
  const match = PHONE.exec(text);
  if (match?.[1]) return { kind: 'ok', address: match[1] };
  return { kind: 'invalid', reason: 'must be a phone number such as +998901234567' };
}

export function readChat(text: string): AddressReading {
  return CHAT.test(text) ? { kind: 'ok', address: text } : { kind: 'invalid', reason: 'must be the number of a chat' };
}

export function readAddress(channel: MessageChannel, text: string): AddressReading {
  if (channel === 'email') return readEmail(text);
  return channel === 'sms' ? readPhone(text) : readChat(text);
}

/** The same address for every spelling: what is suppressed is found by it. */
export function addressKey(channel: MessageChannel, address: string): string {
  // By the letter of RFC 5321 the part before the @ is case sensitive; no server of note holds to that.
  return channel === 'email' ? address.toLowerCase() : address;
}

/** What of an address may be shown: enough to recognise it, not enough to use it. */
export function maskedAddress(channel: MessageChannel, address: string): string {
  if (channel === 'sms') return `+998*****${address.slice(-4)}`;
  if (channel === 'telegram') return `chat …${address.slice(-2)}`;
  const at = address.lastIndexOf('@');
  return `${address.slice(0, 1)}***${address.slice(at)}`;
}

/** Answers of providers repeat addresses: what is kept of them does not. */
export function withoutAddresses(text: string): string {
  return text
    .replaceAll(/[^\s<>@"':,;()[\]]{1,64}@[^\s<>@"':,;()[\]]{1,255}/g, '[address]')
    .replaceAll(/\+?\d{9,15}/g, '[number]');
}
