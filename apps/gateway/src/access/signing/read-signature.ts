import type { ListItem, Member } from './canonical-member.js';
import { isComponentName, type SignedRequest } from './signed-request.js';
import { bytesOf, readCanonicalDictionary } from './structured-dictionary.js';

/** Marks the one signature that is meant for this gateway; all others are none of its business. */
export const SIGNATURE_TAG = 'fgw-v1';

/** At least 128 bits in base64url; bounds what the table of nonces holds. */
const NONCE = /^[\x21-\x7e]{22,128}$/;
const MAX_COMPONENTS = 32;

/** A well-formed signature of our profile (docs/signing.md). Nothing in it is verified yet. */
export interface PresentedSignature {
  components: readonly string[];
  /** Value of `@signature-params` in the signature base. */
  params: string;
  /** Seconds since 1970. */
  created: number;
  expires: number;
  nonce: string;
  keyId: string;
  /** Null when the signer leaves it out. */
  algorithm: string | null;
  bytes: Buffer;
}

export type SignatureReading =
  | { kind: 'none' }
  /** @property detail one sentence about what was sent */
  | { kind: 'malformed'; detail: string }
  | { kind: 'signature'; signature: PresentedSignature };

/** Finds the signature with our tag in Signature-Input and Signature (RFC 9421 §4). */
export function readSignature({ fields }: SignedRequest): SignatureReading {
  const inputField = fields.get('signature-input');
  if (inputField === undefined) return { kind: 'none' };
  const inputs = readCanonicalDictionary(inputField);
  if (!inputs) return malformed('Signature-Input is not a dictionary in canonical form, or repeats a name.');
  const ours = [...inputs].filter(([, { parameters }]) => parameters.get('tag') === SIGNATURE_TAG);
  const [first, ...more] = ours;
  if (!first) return { kind: 'none' };
  if (more.length > 0) return malformed(`Send exactly one signature with tag="${SIGNATURE_TAG}".`);
  const [label, input] = first;
  if (input.kind !== 'list') return malformed('A member of Signature-Input must be a list of components.');
  const signatures = readCanonicalDictionary(fields.get('signature') ?? '');
  const bytes = signatures && bytesOf(signatures, label);
  if (!bytes) return malformed(`Signature holds no byte sequence with the label ${label}.`);
  return readInput(input, bytes);
}

function readInput({ items, parameters, text }: Extract<Member, { kind: 'list' }>, bytes: Buffer): SignatureReading {
  const components = readComponents(items);
  if (!Array.isArray(components)) return components;
  const created = secondsOf(parameters.get('created'));
  const expires = secondsOf(parameters.get('expires'));
  if (created === null || expires === null) return malformed('created and expires must be there, as integers.');
  const nonce: unknown = parameters.get('nonce');
  if (typeof nonce !== 'string' || !NONCE.test(nonce)) {
    return malformed('nonce must be a string of 22 to 128 visible characters, random for each request.');
  }
  const keyId: unknown = parameters.get('keyid');
  if (typeof keyId !== 'string') return malformed('keyid must be there, as a string.');
  const algorithm: unknown = parameters.get('alg') ?? null;
  if (algorithm !== null && typeof algorithm !== 'string') return malformed('alg must be a string.');
  return {
    kind: 'signature',
    signature: { components, params: text, created, expires, nonce, keyId, algorithm, bytes },
  };
}

function readComponents(items: readonly ListItem[]): string[] | { kind: 'malformed'; detail: string } {
  const names: string[] = [];
  for (const item of items) {
    const name = typeof item === 'string' ? item : item.name;
    if (name === null) return malformed('Components must be strings.');
    if (item !== name) return malformed(`Component parameters are not supported: sign the whole of "${name}".`);
    if (!isComponentName(name)) return malformed(`The component "${name}" is not supported.`);
    if (names.includes(name)) return malformed(`The component "${name}" is covered twice.`);
    names.push(name);
  }
  return names.length <= MAX_COMPONENTS ? names : malformed(`Cover at most ${MAX_COMPONENTS} components.`);
}

function secondsOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

function malformed(detail: string): { kind: 'malformed'; detail: string } {
  return { kind: 'malformed', detail };
}
