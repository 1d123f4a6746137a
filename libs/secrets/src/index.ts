export { holdsCardNumber, looksLikeCard } from './card-number.js';
export { deriveKey, EnvelopeError, open, parseKeyring, seal, sealedWith, type Keyring } from './envelope.js';
export { isWeakEd25519, weaknessOf, weaknessOfNewKey } from './weak-keys.js';
