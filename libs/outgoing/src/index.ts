export * from './account-fields.js';
export { addressGroup, CidrSet, parseCidr, type Cidr } from './cidr.js';
export { guardedRequest, type GuardedAnswer } from './guarded-request.js';
export { isPublicUnicast, OutgoingGuard, OutgoingRefused } from './outgoing-guard.js';
