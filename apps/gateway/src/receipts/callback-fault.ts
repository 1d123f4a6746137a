import type { ProblemError } from '#problems';

/**
 * A callback that cannot be verified is worse than none: its receiver would trust any sender that knows the address. So `callback_url`
 * is refused until the merchant's secret has been shown.
 */
export const CALLBACK_SECRET_MISSING: ProblemError = {
  pointer: '/callback_url',
  code: 'callback_secret_missing',
  detail:
    'The secret that signs callbacks has never been shown: call POST /v1/webhooks/callbacks/rotate-secret once, then repeat.',
};
