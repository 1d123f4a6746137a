export { MAX_ENTRIES, MAX_FIELDS } from './bounds.js';
export { JudgedApart } from './judged-apart.js';
export { inNfc, mayNeedNfc } from './nfc.js';
export { checkQuery, checkShape, validationProblem } from './shape.js';
