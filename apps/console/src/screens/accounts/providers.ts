/** Payment providers, those that most merchants have first. */
export const PROVIDERS = ['payme', 'click', 'uzum', 'multicard', 'octo', 'atmos', 'paynet', 'stripe'] as const;
