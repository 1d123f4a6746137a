import { randomBytes } from 'node:crypto';
import type { Register } from '../register.js';
import { PinGate } from './pin-gate.js';
import { Sessions } from './sessions.js';

/** What the screen of one register keeps between requests. */
export class Screen {
  readonly pins: PinGate;
  readonly sessions: Sessions;
  /** Makes the forms' tokens; a restart makes open forms outdated. */
  readonly formKey = randomBytes(32);
  /** Cookies know no ports: each register on a machine has names of its own. */
  readonly sessionCookie: string;
  readonly visitorCookie: string;
  /** QR codes of the receipts last shown, by sequence number. */
  readonly qrCodes = new Map<number, string>();

  constructor(readonly register: Register) {
    const { terminalId } = register.module.info();
    this.pins = new PinGate(register.meta, register.clock, register.folder);
    this.sessions = new Sessions(register.clock);
    this.sessionCookie = `register-session-${terminalId}`;
    this.visitorCookie = `register-visitor-${terminalId}`;
  }
}
