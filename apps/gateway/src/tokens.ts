/** What modules inject that has no class of its own. */
export const SETTINGS_TOKEN = Symbol('settings');
export const LOGGER = Symbol('logger');
/** The guard of everything that is sent to merchants' own receivers. */
export const WEBHOOK_GUARD = Symbol('webhook guard');
