import { DOCS_LINKS } from './problem-pages.js';

/** The page at /docs: Swagger UI from the pinned package, no script and no style from anywhere else. */
export const DOCS_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Fiscal receipt gateway: API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/docs.css">
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
</head>
<body>
${DOCS_LINKS.text}
<noscript>The description as OpenAPI: <a href="/openapi.json">/openapi.json</a></noscript>
<div id="api"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/docs.js"></script>
</body>
</html>
`;

/** In this order; what is not named follows. */
const FIRST = ['receipts', 'payments', 'catalog', 'events', 'webhooks', 'devices', 'reports', 'oauth'];

/** Plain JavaScript for the browser. The examples stand before the parameters of each operation. */
export const DOCS_SCRIPT = `'use strict';
const FIRST = ${JSON.stringify(FIRST)};
const LANGUAGES = { curl: 'curl', node: 'Node.js', python: 'Python', php: 'PHP' };
let chosen = 'curl';

const rank = (tag) => (FIRST.includes(tag) ? FIRST.indexOf(tag) : FIRST.length);

const examplesOf = (samples) => ({
  wrapComponents: {
    parameters: (Original, { React }) => (props) => {
      const h = React.createElement;
      const [language, choose] = React.useState(chosen);
      const [path, method] = props.pathMethod;
      const texts = samples[method.toUpperCase() + ' ' + path];
      if (texts === undefined) return h(Original, props);
      const button = (name) =>
        h('button', {
          key: name,
          type: 'button',
          className: 'btn example-language',
          'aria-pressed': name === language,
          onClick: () => choose((chosen = name)),
        }, LANGUAGES[name]);
      return h(React.Fragment, null,
        h('div', { className: 'opblock-section example' },
          h('div', { className: 'opblock-section-header' }, h('h4', { className: 'opblock-title' }, 'Example'),
            Object.keys(LANGUAGES).map(button)),
          h('div', { className: 'highlight-code' },
            h('pre', { className: 'microlight example-code', tabIndex: 0 }, texts[language]))),
        h(Original, props));
    },
  },
});

fetch('/docs/code-samples.json')
  .then((answer) => answer.json())
  .then((samples) => SwaggerUIBundle({
    url: '/openapi.json',
    dom_id: '#api',
    deepLinking: true,
    docExpansion: 'none',
    defaultModelsExpandDepth: 0,
    filter: true,
    tagsSorter: (left, right) => rank(left) - rank(right) || left.localeCompare(right),
    // Else every view of the page would be reported to a validator on the internet.
    validatorUrl: null,
    plugins: [examplesOf(samples)],
  }));
`;
