/** The sections of the settings page, by the identifiers in its address. */
export const settingsSections = [
  { id: 'plan', title: 'Plan' },
  { id: 'keys', title: 'API keys' },
  { id: 'usage', title: 'Usage' },
  { id: 'alerts', title: 'Alerts' },
  { id: 'webhooks', title: 'Webhooks' },
  { id: 'share-links', title: 'Share links' },
  { id: 'saved-views', title: 'Saved views' },
  { id: 'organization', title: 'Organization' },
  { id: 'sessions', title: 'Sessions' },
  { id: 'password', title: 'Password' },
  { id: 'second-factor', title: 'Second factor' },
];
