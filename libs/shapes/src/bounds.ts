/** More than any list of this API takes: each entry costs a check, and some checks compare all entries with each other. */
export const MAX_ENTRIES = 1_000;
/** More than any object of this API has. Beyond it the work of class-transformer grows with the square of their number. */
export const MAX_FIELDS = 64;
