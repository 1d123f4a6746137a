/** What law and fiscal module set bounds to, once for all programs (specification; docs/watch.md). */

const HOUR_MS = 60 * 60 * 1000;

/** An unsent document stops its fiscal module so long after its registration: the OFD has it by then, or nothing more is sold. */
export const OFD_FUSE_HOURS = 48;
export const OFD_FUSE_MS = OFD_FUSE_HOURS * HOUR_MS;
/** Of that time we warn after 24 hours, and raise an alarm after 40. */
export const OFD_WARNING_HOURS = 24;
export const OFD_ALARM_HOURS = 40;
export const OFD_WARNING_MS = OFD_WARNING_HOURS * HOUR_MS;
export const OFD_ALARM_MS = OFD_ALARM_HOURS * HOUR_MS;

/** A shift is closed daily. */
export const SHIFT_MS = 24 * HOUR_MS;
/** Most documents that a shift can hold. */
export const SHIFT_DOCUMENT_LIMIT = 29_999;

/** Of one document. */
export const MAX_ITEMS = 500;
/** Of one item. */
export const MAX_LABELS = 300;
export const MAX_LABEL_BYTES = 128;
export const MAX_BARCODE_BYTES = 63;
/** Of a package code, and of the terminal and the sign that a refund names: several times what any of them has. */
export const MAX_CODE_BYTES = 63;
