/** What a fiscal module makes of a document: shared by the register and by the emulated registers of sandboxes. */
export * from './fiscal-module.js';
export {
  documentPayload,
  OFD_BATCH,
  parseDocument,
  recordedFields,
  zReportPayload,
  type OfdDocument,
  type OfdZReport,
  type Place,
} from './ofd-document.js';
export { isPartOfSale, withVatUpTo } from './part-of-sale.js';
export { readDocument, requestHash } from './read-document.js';
export { errorBody, httpStatusOf, refusedByModule, type Refusal } from './refusal.js';
export { refusal } from './refusals.js';
export { digestOf, NO_DIGEST, signOf } from './sign.js';
export { addSums, areExact, covers, NO_SUMS, sameSums } from './sums.js';
