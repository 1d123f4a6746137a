import type { ProblemError } from '#http';

/**
 * A callback that nobody can check is worse than none: its receiver would believe whoever knows the address. So `callback_url`
 * is refused until somebody has been shown the merchant's secret.
 */
export const CALLBACK_SECRET_MISSING: ProblemError = {
  pointer: '/callback_url',
  code: 'callback_secret_missing',
  detail:
    'Nobody has been shown the secret that signs callbacks: call POST /v1/webhooks/callbacks/rotate-secret once, then repeat.',
};
