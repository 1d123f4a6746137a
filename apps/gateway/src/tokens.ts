/** What modules inject that has no class of its own. */
export const SETTINGS_TOKEN = Symbol('settings');
export const LOGGER = Symbol('logger');
