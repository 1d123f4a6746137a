/** Problems, receipts and pages are worded in these. */
export const LANGUAGES = ['en', 'ru', 'uz'] as const;
export type Language = (typeof LANGUAGES)[number];
