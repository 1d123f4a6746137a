import { isReadableOnTheWay } from '../addresses.js';
import { fault, ok, warning, type Finding } from './finding.js';

const TIMEOUT_MS = 10_000;
/** docs/signing.md: `created` may be so far ahead, and so far behind. */
const AHEAD_S = 60;
const BEHIND_S = 300;
const NOTICEABLE_S = 5;

/** The causes that people meet, and what to do about each. */
const REMEDIES: Readonly<Record<string, string>> = {
  ENOTFOUND: 'The name does not resolve: compare the address, then the DNS of this machine.',
  EAI_AGAIN: 'The DNS does not answer: check the network of this machine.',
  ECONNREFUSED: 'Nothing listens there: start the gateway, and compare host and port.',
  ECONNRESET: 'The connection was cut: a firewall, or http where https is meant.',
  ETIMEDOUT: 'Nothing answers: a firewall between here and there, or the wrong address.',
  UND_ERR_CONNECT_TIMEOUT: 'Nothing answers: a firewall between here and there, or the wrong address.',
  CERT_HAS_EXPIRED: "The gateway's certificate has expired: renew it.",
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate belongs to another name: use the name that it was issued for.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate is self-signed: set NODE_EXTRA_CA_CERTS to its file.',
  SELF_SIGNED_CERT_IN_CHAIN: 'The issuer is not known here: set NODE_EXTRA_CA_CERTS to its certificate.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The issuer is not known here: set NODE_EXTRA_CA_CERTS to its certificate.',
};

export interface Reached {
  findings: Finding[];
  isReachable: boolean;
}

/** The way to the gateway, whether it can work, and how far the two clocks are apart. */
export async function checkGateway(baseUrl: string, signal: AbortSignal): Promise<Reached> {
  const begunMs = Date.now();
  try {
    const response = await fetch(`${baseUrl.replace(/\/$/, '')}/readyz`, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      redirect: 'manual',
    });
    await response.arrayBuffer();
    const tookMs = Date.now() - begunMs;
    const clock = checkClock(response.headers.get('date'), begunMs + tookMs / 2);
    return { findings: [networkFinding(response.status, baseUrl, tookMs), clock], isReachable: true };
  } catch (error) {
    if (signal.aborted) throw error;
    return { findings: [unreachable(error)], isReachable: false };
  }
}

function networkFinding(status: number, baseUrl: string, tookMs: number): Finding {
  if (status === 200) return plainHttp(baseUrl) ?? ok('network', `the gateway answers in ${tookMs} ms and is ready`);
  if (status === 503)
    return fault(
      'network',
      'the gateway runs and is not ready',
      'Its /readyz says which part is missing; see docs/runbook.md.',
    );
  return fault(
    'network',
    `/readyz answers ${status}`,
    'That is no gateway, or a proxy in between: compare the address.',
  );
}

/** A token that travels in the clear is anybody's. */
function plainHttp(baseUrl: string): Finding | null {
  if (!isReadableOnTheWay(baseUrl)) return null;
  return warning('network', 'the gateway answers, by http', 'Secret and token can be read on the way: use https.');
}

function unreachable(error: unknown): Finding {
  const { cause, message, name } = error as Error;
  const { code = null } = (cause ?? {}) as { code?: string };
  if (name === 'TimeoutError')
    return fault('network', `no answer within ${TIMEOUT_MS / 1000} s`, REMEDIES['ETIMEDOUT'] ?? '');
  const todo = (code !== null && REMEDIES[code]) || 'Compare the address, then the network of this machine.';
  return fault('network', code ?? message, todo);
}

/** @param middleMs of this machine's clock, half-way between question and answer */
function checkClock(date: string | null, middleMs: number): Finding {
  const theirs = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(theirs)) return warning('clock', 'the answer has no Date', 'Compare the clock by hand.');
  // The header has whole seconds: half of one is the middle.
  const aheadS = Math.round((middleMs - (theirs + 500)) / 1000);
  const found =
    aheadS === 0
      ? 'agrees with the gateway'
      : `${Math.abs(aheadS)} s ${aheadS > 0 ? 'ahead of' : 'behind'} the gateway`;
  if (aheadS > AHEAD_S || -aheadS > BEHIND_S)
    return fault(
      'clock',
      found,
      'Signatures and webhooks are refused: switch time synchronisation on (timedatectl set-ntp true).',
    );
  if (Math.abs(aheadS) > NOTICEABLE_S)
    return warning('clock', found, 'Signatures still pass: switch time synchronisation on (timedatectl set-ntp true).');
  return ok('clock', found);
}
