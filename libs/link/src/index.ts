export { hashEnrolmentCode, newEnrolmentCode } from './enrolment-code.js';
export {
  CLOSE,
  decodeFrame,
  encodeAnswer,
  encodeFrame,
  LINK_LIMITS,
  LINK_PROTOCOL,
  MAX_MESSAGE_BYTES,
  readAnswer,
  readHead,
  readLimits,
  type Frame,
} from './frames.js';
export { decodePublicKey, relayIdentityOf, type Hello, type LinkRefusal } from './handshake.js';
export { LinkAgent } from './link-agent.js';
export { LinkKeyError } from './link-keys.js';
export { readLinkUrl } from './link-url.js';
export { RegisterLink } from './register-link.js';
export { giveVerdict, greetRegister } from './relay-handshake.js';
