/** What modules inject that has no class of its own. */
export const SETTINGS_TOKEN = Symbol('settings');
export const LOGGER = Symbol('logger');
/** Of this process, as lanes and attempts say it. */
export const RELAY_ID = Symbol('relay id');
