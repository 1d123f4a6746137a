export { addressGroup, CidrSet, parseCidr, type Cidr, type CidrParse, type IpFamily } from './cidr.js';
export { GuardedFetch, guardedRequest, type GuardedAnswer, type GuardedRequest } from './guarded-request.js';
export {
  isPublicUnicast,
  OutgoingGuard,
  OutgoingRefused,
  readOutgoingUrl,
  type NameLookup,
  type UrlVerdict,
} from './outgoing-guard.js';
