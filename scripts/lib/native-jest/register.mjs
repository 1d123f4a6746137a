import { register } from 'node:module';

/** `node --import`: the hooks of hooks.mjs for this process. */
register('./hooks.mjs', import.meta.url);
