/** Something in the command that cannot be used; its message is for the person who typed it. */
export class UsageError extends Error {}
