import type { DeviceBusiness, DeviceIntroduction, DeviceTaskResult, InspectParams } from '#database';
import type { FmInfo, LocalBranch, LocalBusiness, LocalStatus } from '#fiscal-domain';
import { readingFrom } from '../devices/device-reading.js';
import { readRegisterHeaders } from '../devices/register-headers.js';
import type { CallAnswer, LaneDevice, Register } from '../devices/register.js';
import type { DeviceToInspect, InspectionRepository } from './inspection.repository.js';

/** A register that can be asked whom it belongs to. */
export interface IntroducedRegister extends Pick<Register, 'status' | 'fmInfo'> {
  business(): Promise<CallAnswer<LocalBusiness>>;
  branch(): Promise<CallAnswer<LocalBranch>>;
}

/** Connections of its own: an address that is only tried must not displace the one that sells. */
export interface InspectionLine {
  register: IntroducedRegister;
  close(): void;
}

export type OpenInspectionLine = (device: LaneDevice) => InspectionLine;

export type Inspection = { kind: 'ok'; introduction: DeviceIntroduction } | Failed;
type Failed = Extract<DeviceTaskResult, { kind: 'failed' }>;
type Asked<T> = Extract<CallAnswer<T>, { kind: 'ok' }>;

/** Four calls have to fit into the time for which a caller waits. */
const MAX_CALL_TIMEOUT_MS = 6_000;
/** Answers that came to an end too early prove a register as little as silence does. */
const NO_ANSWER = new Set(['timeout', 'reset']);

/** Asks a register who it is and whose, and says why it cannot work. Changes nothing. */
export class InspectDevice {
  constructor(
    private readonly rows: InspectionRepository,
    private readonly openLine: OpenInspectionLine,
  ) {}

  async execute(deviceId: string, params: InspectParams = {}): Promise<Inspection> {
    const known = await this.rows.read(deviceId);
    if (!known) return failed('expired', 'The device is gone.');
    const { device, terminalId } = known;
    const line = this.openLine(asTried(device, params));
    try {
      const inspection = await introduce(line.register, known);
      if (inspection.kind === 'failed') return inspection;
      const found = inspection.introduction.terminalId;
      if (terminalId !== null && terminalId !== found)
        return failed('other_terminal', `Terminal ${found} answers; this device is terminal ${terminalId}.`);
      if (await this.rows.isTerminalTaken(found, deviceId))
        return failed('terminal_taken', `Terminal ${found} is already a live device.`);
      return inspection;
    } finally {
      line.close();
    }
  }
}

function asTried(device: LaneDevice, { baseUrl, apiKeySealed }: InspectParams): LaneDevice {
  const callTimeoutMs = Math.min(device.profile.callTimeoutMs, MAX_CALL_TIMEOUT_MS);
  return {
    ...device,
    profile: { ...device.profile, callTimeoutMs },
    ...(baseUrl !== undefined && { baseUrl }),
    ...(apiKeySealed !== undefined && { apiKeySealed: Buffer.from(apiKeySealed, 'base64') }),
  };
}

async function introduce(
  register: IntroducedRegister,
  { merchantTin, readAt }: Pick<DeviceToInspect, 'merchantTin' | 'readAt'>,
): Promise<Inspection> {
  const status = await register.status();
  if (status.kind !== 'ok') return failureOf('GET /status', status);
  const unfit = unfitness(status.value);
  if (unfit) return unfit;
  const info = await register.fmInfo();
  if (info.kind !== 'ok') return failureOf('GET /fm/info', info);
  const business = await register.business();
  if (business.kind !== 'ok') return failureOf('GET /business', business);
  const { tin } = business.value.business;
  if (tin !== merchantTin)
    return failed(
      'tin_mismatch',
      `The register belongs to TIN ${tin || '(none)'}, the merchant is TIN ${merchantTin}.`,
    );
  const branch = await register.branch();
  if (branch.kind !== 'ok') return failureOf('GET /branch', branch);
  const asked = { status: status.value, info, business: business.value, branch: branch.value };
  return { kind: 'ok', introduction: introductionOf(asked, readAt) };
}

/** What the register says of itself that keeps it from taking receipts. */
function unfitness({ activated, fmInitialized, subscriptionState }: LocalStatus): Failed | null {
  if (!activated) return failed('E-001', 'The register is not activated.');
  if (!fmInitialized) return failed('F-001', 'The fiscal module of the register is not initialised.');
  if (subscriptionState === 'expired') return failed('E-002', 'The subscription of the register has expired.');
  return null;
}

function failureOf(call: string, answer: Exclude<CallAnswer<unknown>, { kind: 'ok' }>): Failed {
  if (answer.kind === 'refused') return failed(answer.code, `${call}: ${answer.code} ${answer.message}`.trim());
  const isAway = answer.kind === 'unreachable' || NO_ANSWER.has(answer.reason);
  return failed(isAway ? 'unreachable' : 'not_a_register', `${call}: ${answer.reason}`);
}

function failed(code: string, detail: string): Failed {
  return { kind: 'failed', code, detail };
}

interface AskedRegister {
  status: LocalStatus;
  info: Asked<FmInfo>;
  business: LocalBusiness;
  branch: LocalBranch;
}

function introductionOf({ status, info, business, branch }: AskedRegister, readAt: Date): DeviceIntroduction {
  const { subscriptionExpiresAt, classifierVersion } = readRegisterHeaders(info.headers);
  return {
    terminalId: info.value.terminalId,
    journalId: status.journalId ?? null,
    capabilities: status.capabilities ?? [],
    subscriptionExpiresAt: subscriptionExpiresAt?.toISOString() ?? null,
    business: businessOf(business, branch),
    // The first reading, so that a full module takes no receipt before the first poll; its fuse counts from now.
    reading: readingFrom({
      ...{ status, classifierVersion, info: info.value, shift: null, previous: null, oldestPendingMs: null },
      nowMs: readAt.getTime(),
    }),
  };
}

function businessOf({ business }: LocalBusiness, { branch }: LocalBranch): DeviceBusiness {
  const { name, tin, phone, legal_address: legalAddress, actual_address: actualAddress } = business;
  return { name, tin, phone, legalAddress, actualAddress, branchId: branch._id, branchAddress: branch.address };
}
