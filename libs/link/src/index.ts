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
  type CallHead,
  type Frame,
} from './frames.js';
export { decodePublicKey, relayIdentityOf, type Hello, type LinkRefusal } from './handshake.js';
export { LinkAgent, type LinkAgentOptions } from './link-agent.js';
export { LinkKeyError } from './link-keys.js';
export { readLinkUrl, type LinkTarget } from './link-url.js';
export { RegisterLink, type RegisterLinkOptions } from './register-link.js';
export { giveVerdict, greetRegister, type Greeting } from './relay-handshake.js';
