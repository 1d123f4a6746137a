export {
  choice,
  field,
  optional,
  readerOf,
  SECRET,
  splitSecrets,
  webAddress,
  type AccountField,
  type AccountFields,
  type ReadValue,
  type SplitValues,
} from './account-fields.js';
export { addressGroup, CidrSet, parseCidr, type Cidr, type CidrParse, type IpFamily } from './cidr.js';
export { GuardedFetch, guardedRequest, type GuardedAnswer, type GuardedRequest } from './guarded-request.js';
export { nameLookup, type NameLookup, type NameServers } from './name-lookup.js';
export { isPublicUnicast, OutgoingGuard, OutgoingRefused, readOutgoingUrl, type UrlVerdict } from './outgoing-guard.js';
