/** Settings of Bull Board's pages: no links to other hosts, and nothing that the queues do not record. */
export const UI_CONFIG = {
  boardTitle: 'Queues',
  favIcon: { default: 'static/images/logo.svg', alternative: 'static/favicon-32x32.png' },
  locale: { lng: 'en-US' },
  hideDocsLink: true,
  miscLinks: [],
  showMetrics: false,
};
